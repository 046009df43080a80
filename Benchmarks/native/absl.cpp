// Abseil's lock.
#include "locks.hpp"

#include <absl/synchronization/mutex.h>

namespace {
struct AbslMutex {
  absl::Mutex mutex;
  void lock() { mutex.Lock(); }
  void unlock() { mutex.Unlock(); }
};
}  // namespace

namespace rivals {
const std::vector<Rival> all = {
    {"lock/uncontended", "absl-mutex", uncontended<AbslMutex>},
    {"lock/contended", "absl-mutex", contended<AbslMutex>},
};
const std::vector<LockKind> locks = {lockKind<AbslMutex>("absl-mutex")};
}
