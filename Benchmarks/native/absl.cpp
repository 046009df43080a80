// Abseil's lock.
#include "rivals.hpp"

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
}
