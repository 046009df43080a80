// Locks that a plug-in offers to `lock-contention`.
#pragma once

#include "rivals.hpp"

namespace rivals {

struct LockKind {
  const char *name;
  void *(*make)();
  threading_rival_lock_step take, give, end;
};

/// A plug-in with locks defines it.
extern const std::vector<LockKind> locks;

template <class Lock>
LockKind lockKind(const char *name) {
  return {
      name,
      []() -> void * { return new Lock(); },
      [](void *object) { static_cast<Lock *>(object)->lock(); },
      [](void *object) { static_cast<Lock *>(object)->unlock(); },
      [](void *object) { delete static_cast<Lock *>(object); },
  };
}

}  // namespace rivals

extern "C" {
int32_t threading_rival_lock_count(void) { return int32_t(rivals::locks.size()); }
const char *threading_rival_lock_name(int32_t lock) { return rivals::locks[size_t(lock)].name; }
void *threading_rival_lock_make(int32_t lock) { return rivals::locks[size_t(lock)].make(); }
threading_rival_lock_step threading_rival_lock_take(int32_t lock) {
  return rivals::locks[size_t(lock)].take;
}
threading_rival_lock_step threading_rival_lock_give(int32_t lock) {
  return rivals::locks[size_t(lock)].give;
}
threading_rival_lock_step threading_rival_lock_end(int32_t lock) {
  return rivals::locks[size_t(lock)].end;
}
}
