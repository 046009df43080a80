// GLib: its main loop, functions handed to it as idle sources, and its timeouts.
#include "loops.hpp"

#include <glib.h>

namespace {

using rivals::Function;

class GlibLoop {
  GMainContext *context = g_main_context_new();
  GMainLoop *loop = g_main_loop_new(context, FALSE);
  std::thread thread;

 public:
  GlibLoop() {
    thread = std::thread([this] {
      g_main_context_push_thread_default(context);
      g_main_loop_run(loop);
      g_main_context_pop_thread_default(context);
    });
    // A loop that is told to quit before it runs would run for ever.
    rivals::Gate running;
    perform([&] { running.open(); });
    running.wait();
  }
  ~GlibLoop() {
    g_main_loop_quit(loop);
    thread.join();
    g_main_loop_unref(loop);
    g_main_context_unref(context);
  }
  void perform(Function function) {
    // Of the usual priority, with which functions run in order.
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(
        source,
        [](gpointer data) -> gboolean {
          (*static_cast<Function *>(data))();
          return G_SOURCE_REMOVE;
        },
        new Function(std::move(function)),
        [](gpointer data) { delete static_cast<Function *>(data); });
    g_source_attach(source, context);
    g_source_unref(source);
  }
};

struct Times {
  int64_t adding, cancelling;
};

Times farTimers(int64_t items) {
  GMainContext *context = g_main_context_new();
  rivals::Moments moments;
  std::vector<GSource *> timers;
  timers.reserve(size_t(items));
  int64_t start = rivals::now();
  for (int64_t item = 0; item < items; item++) {
    GSource *source = g_timeout_source_new(guint(moments.next()));
    g_source_set_callback(
        source, [](gpointer) -> gboolean { return G_SOURCE_REMOVE; }, nullptr, nullptr);
    g_source_attach(source, context);
    timers.push_back(source);
  }
  int64_t added = rivals::now();
  for (GSource *source : timers) g_source_destroy(source);
  int64_t cancelled = rivals::now();
  int64_t left = 0;
  for (GSource *source : timers) {
    left += g_source_is_destroyed(source) ? 0 : 1;
    g_source_unref(source);
  }
  g_main_context_unref(context);
  rivals::expect("the timers still scheduled", left, 0);
  return {added - start, cancelled - added};
}

int64_t fire(int64_t items, int) {
  GMainContext *context = g_main_context_new();
  int64_t fired = 0;
  for (int64_t item = 0; item < items; item++) {
    GSource *source = g_timeout_source_new(0);
    g_source_set_callback(
        source,
        [](gpointer data) -> gboolean {
          ++*static_cast<int64_t *>(data);
          return G_SOURCE_REMOVE;
        },
        &fired, nullptr);
    g_source_attach(source, context);
    g_source_unref(source);
  }
  int64_t start = rivals::now();
  while (fired < items) g_main_context_iteration(context, TRUE);
  int64_t time = rivals::now() - start;
  g_main_context_unref(context);
  rivals::expect("the timers that fired", fired, items);
  return time;
}

}  // namespace

namespace rivals {
const std::vector<Rival> all = {
    {"loop/perform-producers", "glib", perform<GlibLoop>},
    {"loop/ping-pong", "glib", pingPong<GlibLoop>},
    {"timer/add", "glib", [](int64_t items, int) { return farTimers(items).adding; }},
    {"timer/cancel", "glib", [](int64_t items, int) { return farTimers(items).cancelling; }},
    {"timer/fire", "glib", fire},
};
}
