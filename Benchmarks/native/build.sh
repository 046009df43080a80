#!/usr/bin/env bash
# Builds the plug-ins with rivals in C and C++, those whose libraries are installed.
set -euo pipefail

usage() {
  cat <<'TEXT'
Builds plug-ins with C and C++ rivals for `benchmarks`, into Benchmarks/native/build, where
`benchmarks` run from the root of the package finds them.

USAGE: Benchmarks/native/build.sh [--help | --clean]

Each plug-in needs a C++ compiler and a library; what is not installed is left out. On Debian:

  std     the standard library's lock           apt-get install g++
  absl    Abseil's lock                         apt-get install libabsl-dev
  libuv   loop, async handles, timers           apt-get install libuv1-dev
  glib    main loop, idle sources, timeouts     apt-get install libglib2.0-dev
  tbb     oneTBB: tasks, graphs, loops          apt-get install libtbb-dev

All of them:

  apt-get install g++ pkg-config libabsl-dev libuv1-dev libglib2.0-dev libtbb-dev

CXX names another compiler than g++. The package never needs any of this.

EXIT STATUS: 0 when at least one plug-in was built, 1 when none was, 64 for a bad argument.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case "${1-}" in
  "") ;;
  --help | -h) usage; exit 0 ;;
  --clean) rm -rf "$here/build"; exit 0 ;;
  *)
    printf 'build.sh: argument: "%s" is refused; allowed is --help, --clean\n' "$1" >&2
    exit 64
    ;;
esac
if [ $# -gt 1 ]; then
  printf 'build.sh: argument: "%s" is refused; allowed is one argument\n' "$2" >&2
  exit 64
fi

cxx=${CXX:-g++}
if ! command -v "$cxx" >/dev/null; then
  printf 'build.sh: no C++ compiler "%s"; on Debian: apt-get install g++\n' "$cxx" >&2
  exit 1
fi
mkdir -p "$here/build"
built=0

# plugin NAME PACKAGE HEADER [PKG-CONFIG-MODULE...]: builds NAME.cpp when the header is there.
plugin() {
  local name=$1 package=$2 header=$3 flags=""
  shift 3
  if [ $# -gt 0 ]; then
    if ! flags=$(pkg-config --cflags --libs "$@" 2>/dev/null); then
      printf '%-6s left out: not installed (apt-get install pkg-config %s)\n' "$name" "$package"
      rm -f "$here/build/$name.so"
      return
    fi
  fi
  # The flags are words.
  # shellcheck disable=SC2086
  if ! printf '#include <%s>\n' "$header" | "$cxx" -std=c++17 $flags -fsyntax-only -x c++ - \
    2>/dev/null; then
    printf '%-6s left out: no <%s> (apt-get install %s)\n' "$name" "$header" "$package"
    rm -f "$here/build/$name.so"
    return
  fi
  # shellcheck disable=SC2086
  "$cxx" -std=c++17 -O2 -Wall -Wextra -fPIC -shared -pthread -fvisibility-inlines-hidden \
    "$here/$name.cpp" -o "$here/build/$name.new" $flags
  # All of it or nothing: a build that is broken off leaves no half of a library.
  mv "$here/build/$name.new" "$here/build/$name.so"
  printf '%-6s built\n' "$name"
  built=$((built + 1))
}

plugin std g++ mutex
plugin absl libabsl-dev absl/synchronization/mutex.h absl_synchronization
plugin libuv libuv1-dev uv.h libuv
plugin glib libglib2.0-dev glib.h glib-2.0
plugin tbb libtbb-dev tbb/task_group.h tbb

if [ "$built" -eq 0 ]; then
  printf 'build.sh: nothing could be built\n' >&2
  exit 1
fi
printf '%d plug-ins in %s\n' "$built" "$here/build"
