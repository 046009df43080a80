// What a plug-in of the benchmarks has to offer: rivals written in C or C++.
//
// A plug-in is a shared object whose name ends in `.so`. `benchmarks` loads every one that it finds
// in Benchmarks/native/build, or in the folder given by `--native`, and measures its rivals in the
// same run as all others, taking turns with them. A plug-in is asked from one thread at a time.
#ifndef THREADING_RIVAL_H
#define THREADING_RIVAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface. A plug-in that answers another is not used.
#define THREADING_RIVAL_VERSION 1

/// Returns THREADING_RIVAL_VERSION.
int32_t threading_rival_version(void);

/// How many rivals the plug-in has. They are numbered from 0.
int32_t threading_rival_count(void);

/// The workload that a rival takes part in: the name of one (`benchmarks --list`), or of all those
/// that differ in the number of threads alone (lock/contended, loop/perform-producers). Valid for as
/// long as the process lives.
const char *threading_rival_workload(int32_t rival);

/// The name of the rival, such as "libuv": lower case letters, digits and hyphens. Valid for as long
/// as the process lives.
const char *threading_rival_name(int32_t rival);

/// Does `items` items of the workload, checks what came of them, and returns the nanoseconds that
/// they took; setting up and checking are not in them. `threads` is the workload's number of
/// threads.
///
/// Where the result is wrong or the system refused something, writes why into `error`, which has
/// room for `size` bytes with the zero at the end, and returns -1.
int64_t threading_rival_batch(
    int32_t rival, int64_t items, int32_t threads, char *error, size_t size);

// Locks, for `lock-contention`, which counts the turns of each thread itself. A plug-in without
// locks leaves these functions out; one that has them has them all, and its locks are numbered from
// 0. They may be called from any thread.

/// How many locks the plug-in has.
int32_t threading_rival_lock_count(void);

/// The name of a lock, as of a rival.
const char *threading_rival_lock_name(int32_t lock);

/// Makes a free lock of this kind.
void *threading_rival_lock_make(int32_t lock);

/// A step on one that was made.
typedef void (*threading_rival_lock_step)(void *object);

/// The functions that take such a lock, give it back, and end it, when it is free.
threading_rival_lock_step threading_rival_lock_take(int32_t lock);
threading_rival_lock_step threading_rival_lock_give(int32_t lock);
threading_rival_lock_step threading_rival_lock_end(int32_t lock);

#ifdef __cplusplus
}
#endif

#endif
