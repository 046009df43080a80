// What the plug-ins in C++ have in common: the interface over a list of rivals, the same work as the
// Swift side does, and threads that start together.
#pragma once

#include "threading_rival.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rivals {

/// Nanoseconds of the monotonic clock.
inline int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/// `count` dependent steps (xorshift64: Marsaglia, 2003), as the Swift side has them.
inline uint64_t steps(int count, uint64_t state) {
  for (int step = 0; step < count; step++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state;
}
constexpr int stepsInside = 8;
constexpr int stepsOutside = 19;

/// Keeps a value from being computed in vain.
inline void swallow(uint64_t value) { asm volatile("" : : "r"(value) : "memory"); }

/// Throws when a batch did not do what it should.
inline void expect(const char *what, int64_t actual, int64_t expected) {
  if (actual == expected) return;
  throw std::runtime_error(
      std::string(what) + " is " + std::to_string(actual) + ", expected " +
      std::to_string(expected));
}

/// What one thread gives and another waits for.
class Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool isOpen = false;

 public:
  void open() {
    // With the lock held: the one that waits may take the gate down as soon as it can see it open.
    std::lock_guard<std::mutex> guard(mutex);
    isOpen = true;
    opened.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> guard(mutex);
    opened.wait(guard, [this] { return isOpen; });
  }
};

/// Runs `errand` on threads of its own that are let go together once all have started. Returns the
/// nanoseconds from the first start to the last end.
template <class Errand>
int64_t runTeam(int count, Errand errand) {
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  bool go = false;
  std::vector<int64_t> starts(size_t(count), 0), ends(size_t(count), 0);
  std::vector<std::thread> threads;
  for (int index = 0; index < count; index++) {
    threads.emplace_back([&, index] {
      {
        std::unique_lock<std::mutex> guard(mutex);
        arrived++;
        changed.notify_all();
        changed.wait(guard, [&] { return go; });
      }
      starts[size_t(index)] = now();
      errand(index);
      ends[size_t(index)] = now();
    });
  }
  {
    std::unique_lock<std::mutex> guard(mutex);
    changed.wait(guard, [&] { return arrived == count; });
    go = true;
    changed.notify_all();
  }
  for (auto &thread : threads) thread.join();
  return *std::max_element(ends.begin(), ends.end()) -
         *std::min_element(starts.begin(), starts.end());
}

/// What a plug-in lists: where a rival takes part, its name, and its batch.
struct Rival {
  const char *workload;
  const char *name;
  int64_t (*batch)(int64_t items, int threads);
};

/// Each plug-in defines it.
extern const std::vector<Rival> all;

/// A lock that nobody else wants.
template <class Lock>
int64_t uncontended(int64_t items, int) {
  auto lock = std::make_unique<Lock>();
  int64_t count = 0;
  int64_t start = now();
  for (int64_t item = 0; item < items; item++) {
    lock->lock();
    // An increment of memory for each item, not one addition of all.
    asm volatile("" : : "r"(&count) : "memory");
    count++;
    lock->unlock();
  }
  int64_t time = now() - start;
  expect("the count under the lock", count, items);
  return time;
}

/// Threads that count to `items` between them: 20 ns with the lock, 50 ns without.
template <class Lock>
int64_t contended(int64_t items, int threads) {
  auto lock = std::make_unique<Lock>();
  int64_t shared = 0;
  std::vector<int64_t> own(size_t(threads), 0);
  int64_t time = runTeam(threads, [&](int index) {
    uint64_t state = uint64_t(index + 1);
    int64_t turns = 0;
    while (true) {
      lock->lock();
      bool mayGoOn = shared < items;
      if (mayGoOn) {
        shared++;
        state = steps(stepsInside, state);
      }
      lock->unlock();
      if (!mayGoOn) break;
      turns++;
      state = steps(stepsOutside, state);
    }
    swallow(state);
    own[size_t(index)] = turns;
  });
  expect("the shared count", shared, items);
  int64_t sum = 0;
  for (int64_t turns : own) sum += turns;
  expect("the sum of all turns", sum, items);
  return time;
}

}  // namespace rivals

extern "C" {
int32_t threading_rival_version(void) { return THREADING_RIVAL_VERSION; }
int32_t threading_rival_count(void) { return int32_t(rivals::all.size()); }
const char *threading_rival_workload(int32_t rival) { return rivals::all[size_t(rival)].workload; }
const char *threading_rival_name(int32_t rival) { return rivals::all[size_t(rival)].name; }
int64_t threading_rival_batch(
    int32_t rival, int64_t items, int32_t threads, char *error, size_t size) {
  try {
    return rivals::all[size_t(rival)].batch(items, threads);
  } catch (const std::exception &problem) {
    std::snprintf(error, size, "%s", problem.what());
    return -1;
  }
}
}
