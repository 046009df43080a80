// libuv: its loop, woken by an async handle, and its timers.
#include "loops.hpp"

#include <uv.h>

namespace {

using rivals::Function;

/// Functions behind a lock, and one async handle that wakes the loop for all that have come.
class UvLoop {
  uv_loop_t loop;
  uv_async_t wake;
  std::mutex mutex;
  std::vector<Function> waiting, serving;
  bool isOver = false;
  std::thread thread;

  void serve() {
    {
      std::lock_guard<std::mutex> guard(mutex);
      serving.swap(waiting);
    }
    for (auto &function : serving) function();
    serving.clear();
    std::lock_guard<std::mutex> guard(mutex);
    if (isOver && waiting.empty()) uv_close(reinterpret_cast<uv_handle_t *>(&wake), nullptr);
  }

 public:
  UvLoop() {
    uv_loop_init(&loop);
    wake.data = this;
    uv_async_init(&loop, &wake, [](uv_async_t *handle) {
      static_cast<UvLoop *>(handle->data)->serve();
    });
    thread = std::thread([this] { uv_run(&loop, UV_RUN_DEFAULT); });
  }
  ~UvLoop() {
    {
      std::lock_guard<std::mutex> guard(mutex);
      isOver = true;
    }
    uv_async_send(&wake);
    thread.join();
    uv_loop_close(&loop);
  }
  void perform(Function function) {
    {
      std::lock_guard<std::mutex> guard(mutex);
      waiting.push_back(std::move(function));
    }
    uv_async_send(&wake);
  }
};

struct Times {
  int64_t adding, cancelling;
};

Times farTimers(int64_t items) {
  uv_loop_t loop;
  uv_loop_init(&loop);
  rivals::Moments moments;
  std::vector<std::unique_ptr<uv_timer_t>> timers;
  timers.reserve(size_t(items));
  int64_t start = rivals::now();
  for (int64_t item = 0; item < items; item++) {
    timers.push_back(std::make_unique<uv_timer_t>());
    uv_timer_init(&loop, timers.back().get());
    uv_timer_start(timers.back().get(), [](uv_timer_t *) {}, moments.next(), 0);
  }
  int64_t added = rivals::now();
  for (auto &timer : timers) uv_timer_stop(timer.get());
  int64_t cancelled = rivals::now();
  int64_t active = 0;
  for (auto &timer : timers) {
    active += uv_is_active(reinterpret_cast<uv_handle_t *>(timer.get())) ? 1 : 0;
    uv_close(reinterpret_cast<uv_handle_t *>(timer.get()), nullptr);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  rivals::expect("the timers still scheduled", active, 0);
  return {added - start, cancelled - added};
}

int64_t fire(int64_t items, int) {
  uv_loop_t loop;
  uv_loop_init(&loop);
  int64_t fired = 0;
  std::vector<uv_timer_t> timers((size_t(items)));
  for (auto &timer : timers) {
    uv_timer_init(&loop, &timer);
    timer.data = &fired;
    uv_timer_start(
        &timer, [](uv_timer_t *handle) { ++*static_cast<int64_t *>(handle->data); }, 0, 0);
  }
  int64_t start = rivals::now();
  uv_run(&loop, UV_RUN_DEFAULT);
  int64_t time = rivals::now() - start;
  for (auto &timer : timers) uv_close(reinterpret_cast<uv_handle_t *>(&timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  rivals::expect("the timers that fired", fired, items);
  return time;
}

}  // namespace

namespace rivals {
const std::vector<Rival> all = {
    {"loop/perform-producers", "libuv", perform<UvLoop>},
    {"loop/ping-pong", "libuv", pingPong<UvLoop>},
    {"timer/add", "libuv", [](int64_t items, int) { return farTimers(items).adding; }},
    {"timer/cancel", "libuv", [](int64_t items, int) { return farTimers(items).cancelling; }},
    {"timer/fire", "libuv", fire},
};
}
