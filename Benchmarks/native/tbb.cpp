// oneTBB: tasks, graphs of them, and parallel loops.
#include "rivals.hpp"

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace {

using rivals::expect;
using rivals::now;
using Message = tbb::flow::continue_msg;
using Node = tbb::flow::continue_node<Message>;

int64_t tasks(int64_t items, int) {
  tbb::task_group group;
  std::atomic<int64_t> ran{0};
  int64_t start = now();
  for (int64_t item = 0; item < items; item++) {
    group.run([&] { ran.fetch_add(1, std::memory_order_relaxed); });
  }
  group.wait();
  int64_t time = now() - start;
  expect("the tasks that ran", ran, items);
  return time;
}

// As a pool is used: from a thread that is none of the arena's, which has as many as there are processors. In `tasks`
// the thread that hands over is one of them: it puts tasks into its own deque, and runs most of them in its wait.
int64_t enqueue(int64_t items, int) {
  const int threads = int(std::thread::hardware_concurrency());
  // One more than usual, and not longer than here: the thread that hands over is counted.
  tbb::global_control parallelism(tbb::global_control::max_allowed_parallelism,
                                  size_t(threads) + 1);
  static tbb::task_arena arena(threads, 0);
  std::atomic<int64_t> ran{0}, left{items};
  std::mutex mutex;
  std::condition_variable over;
  bool isOver = false;
  int64_t start = now();
  for (int64_t item = 0; item < items; item++) {
    arena.enqueue([&] {
      ran.fetch_add(1, std::memory_order_relaxed);
      if (left.fetch_sub(1) > 1) return;
      std::lock_guard<std::mutex> guard(mutex);
      isOver = true;
      over.notify_one();
    });
  }
  {
    std::unique_lock<std::mutex> guard(mutex);
    over.wait(guard, [&] { return isOver; });
  }
  int64_t time = now() - start;
  expect("the tasks that ran", ran, items);
  return time;
}

void forkInto(tbb::task_group &group, std::atomic<int64_t> &ran, int64_t count) {
  ran.fetch_add(1, std::memory_order_relaxed);
  int64_t left = (count - 1) / 2, right = count - 1 - left;
  if (left > 0) group.run([&group, &ran, left] { forkInto(group, ran, left); });
  if (right > 0) group.run([&group, &ran, right] { forkInto(group, ran, right); });
}

int64_t fork(int64_t items, int) {
  tbb::task_group group;
  std::atomic<int64_t> ran{0};
  int64_t start = now();
  group.run([&] { forkInto(group, ran, items); });
  group.wait();
  int64_t time = now() - start;
  expect("the tasks that ran", ran, items);
  return time;
}

int64_t chain(int64_t items, int) {
  int64_t order = 0;
  int64_t start = now();
  int64_t time = 0;
  {
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<Node>> nodes;
    nodes.reserve(size_t(items));
    for (int64_t item = 0; item < items; item++) {
      nodes.push_back(std::make_unique<Node>(graph, [&order, item](const Message &) {
        if (order == item) order++;
      }));
      if (item > 0) tbb::flow::make_edge(*nodes[size_t(item - 1)], *nodes[size_t(item)]);
    }
    nodes[0]->try_put(Message());
    graph.wait_for_all();
    time = now() - start;
  }
  expect("the tasks that ran in order", order, items);
  return time;
}

int64_t fan(int64_t items, int) {
  std::atomic<int64_t> ran{0};
  int64_t seen = 0;
  int64_t start = now();
  int64_t time = 0;
  {
    tbb::flow::graph graph;
    Node first(graph, [&](const Message &) { seen = 1; });
    Node last(graph, [&](const Message &) { seen += ran.load(); });
    std::vector<std::unique_ptr<Node>> nodes;
    nodes.reserve(size_t(items));
    for (int64_t item = 0; item < items; item++) {
      nodes.push_back(std::make_unique<Node>(
          graph, [&](const Message &) { ran.fetch_add(1, std::memory_order_relaxed); }));
      tbb::flow::make_edge(first, *nodes.back());
      tbb::flow::make_edge(*nodes.back(), last);
    }
    first.try_put(Message());
    graph.wait_for_all();
    time = now() - start;
  }
  expect("what the last task saw", seen, items + 1);
  return time;
}

int64_t forEach(int64_t items, int) {
  std::vector<uint64_t> results(size_t(items), 0);
  int64_t start = now();
  tbb::parallel_for(int64_t(0), items, [&](int64_t number) {
    results[size_t(number)] = rivals::steps(rivals::stepsInside, uint64_t(number + 1));
  });
  int64_t time = now() - start;
  int64_t right = 0;
  for (int64_t number = 0; number < items; number++) {
    right += results[size_t(number)] ==
                     rivals::steps(rivals::stepsInside, uint64_t(number + 1))
                 ? 1
                 : 0;
  }
  expect("the rounds with a right result", right, items);
  return time;
}

}  // namespace

namespace rivals {
const std::vector<Rival> all = {
    {"pool/closures", "tbb", tasks},
    {"pool/closures", "tbb-enqueue", enqueue},
    {"pool/fork", "tbb", fork},
    {"operation/no-op-width-2", "tbb", tasks},
    {"operation/chain", "tbb", chain},
    {"operation/chain-long", "tbb", chain},
    {"operation/fan", "tbb", fan},
    {"parallel/for-each", "tbb", forEach},
};
}
