// Workloads over a loop that serves a thread, for any type with `perform(function)`.
#pragma once

#include "rivals.hpp"

#include <functional>
#include <memory>

namespace rivals {

using Function = std::function<void()>;

/// `threads - 1` producers hand over `items` functions between them.
template <class Loop>
int64_t perform(int64_t items, int threads) {
  Loop loop;
  Gate done;
  int64_t ran = 0;
  int producers = std::max(1, threads - 1);
  int64_t start = now();
  runTeam(producers, [&](int producer) {
    int64_t share = items / producers + (producer < items % producers ? 1 : 0);
    for (int64_t item = 0; item < share; item++) {
      loop.perform([&] {
        if (++ran == items) done.open();
      });
    }
  });
  done.wait();
  int64_t time = now() - start;
  expect("the functions that ran", ran, items);
  return time;
}

/// Two loops that hand a function to each other.
template <class Loop>
int64_t pingPong(int64_t items, int) {
  Loop near, far;
  Gate done;
  int64_t returned = 0;
  Function serve = [&] {
    far.perform([&] {
      near.perform([&] {
        if (++returned == items) done.open();
        else serve();
      });
    });
  };
  int64_t start = now();
  serve();
  done.wait();
  int64_t time = now() - start;
  expect("the functions that came back", returned, items);
  return time;
}

/// Far moments in no order, in milliseconds from now: those of the Swift side.
class Moments {
  uint64_t state = 88172645463325252u;

 public:
  uint64_t next() {
    state = steps(1, state);
    return (100000 + state % 100000) * 1000;
  }
};

}  // namespace rivals
