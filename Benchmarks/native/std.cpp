// The C++ standard library's lock.
#include "locks.hpp"

namespace rivals {
const std::vector<Rival> all = {
    {"lock/uncontended", "std-mutex", uncontended<std::mutex>},
    {"lock/contended", "std-mutex", contended<std::mutex>},
};
const std::vector<LockKind> locks = {lockKind<std::mutex>("std-mutex")};
}
