// The C++ standard library's lock.
#include "rivals.hpp"

namespace rivals {
const std::vector<Rival> all = {
    {"lock/uncontended", "std-mutex", uncontended<std::mutex>},
    {"lock/contended", "std-mutex", contended<std::mutex>},
};
}
