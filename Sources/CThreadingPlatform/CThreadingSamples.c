#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// One sample is taken at a time. The upper 30 bits of `state` number the samples, so that a signal
// that arrives late, after its sample was given up, finds that it is not wanted any more.
//
// Low bits   | meaning                         | leaves by
// 0 idle     | nobody is asked                 | ctp_sample_take -> asked, with the next number
// 1 asked    | the signal is on its way        | the handler -> writing; the asker's limit -> idle
// 2 writing  | the handler writes `sample`     | the handler -> done, and wakes the asker
// 3 done     | `sample` may be read            | ctp_sample_take -> asked, with the next number
static _Atomic uint32_t ctp_sample_state;
static ctp_sample ctp_sample_room;
static bool ctp_sample_with_frames;

bool ctp_sample_has_frames(void) { return dlsym(RTLD_DEFAULT, "_dl_find_object") != NULL; }

static uintptr_t ctp_counter_of(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)context->uc_mcontext.pc;
#else
  return 0;
#endif
}

static uintptr_t ctp_stack_pointer_of(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  return (uintptr_t)context->uc_mcontext.sp;
#else
  return ctp_frame_address();
#endif
}

// Calls only what may be called in a handler: getpid, the C library's walk of the stack (see
// ctp_sample_has_frames; its library was loaded by ctp_sample_install) and futex(2).
static void ctp_sample_handler(int number, siginfo_t *info, void *context) {
  (void)number;
  int saved = errno;
  uint32_t expected = (uint32_t)info->si_value.sival_int;
  // acquire: pairs with the release in ctp_sample_take.
  if (info->si_code != SI_QUEUE || info->si_pid != getpid() || (expected & 3) != 1 ||
      !atomic_compare_exchange_strong_explicit(
          &ctp_sample_state, &expected, expected + 1, memory_order_acquire, memory_order_relaxed)) {
    errno = saved;
    return;
  }
  ctp_sample *sample = &ctp_sample_room;
  uintptr_t counter = ctp_counter_of(context);
  sample->stack_pointer = ctp_stack_pointer_of(context);
  sample->frames[0] = counter;
  sample->count = 1;
  if (ctp_sample_with_frames) {
    int count = backtrace((void **)sample->frames, CTP_SAMPLE_FRAMES);
    // Innermost are this handler and the kernel's way into it.
    int first = 0;
    while (first < count && sample->frames[first] != counter) first++;
    if (first < count) {
      sample->count = count - first;
      for (int index = 0; index < sample->count; index++) {
        sample->frames[index] = sample->frames[index + first];
      }
    } else {
      sample->frames[0] = counter;
    }
  }
  // release: pairs with the acquire in ctp_sample_take.
  atomic_fetch_add_explicit(&ctp_sample_state, 1, memory_order_release);
  ctp_futex_wake((const uint32_t *)&ctp_sample_state, 1, UINT32_MAX);
  errno = saved;
}

bool ctp_signal_is_free(int signal) {
  struct sigaction action;
  return sigaction(signal, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
         action.sa_handler == SIG_DFL;
}

int ctp_sample_install(int signal) {
  // The first walk loads a library, which a handler must not do.
  void *frames[4];
  backtrace(frames, 4);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = ctp_sample_handler;
  // Nothing is blocked in the handler, not even its own signal, so whether a thread blocks that can be
  // seen at any time. A second signal comes while the first handler writes only if it is late, and
  // then it does nothing.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return sigaction(signal, &action, NULL) == 0 ? 0 : errno;
}

int ctp_sample_take(
    uint32_t thread, int signal, bool with_frames, const struct timespec *deadline,
    ctp_sample *sample) {
  const uint32_t *word = (const uint32_t *)&ctp_sample_state;
  uint32_t idle = (atomic_load_explicit(&ctp_sample_state, memory_order_relaxed) & ~3u) + 4;
  ctp_sample_with_frames = with_frames;
  // release: pairs with the acquire in the handler.
  atomic_store_explicit(&ctp_sample_state, idle + 1, memory_order_release);
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = (int)(idle + 1);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, &info) != 0) {
    int code = errno;
    atomic_store_explicit(&ctp_sample_state, idle, memory_order_relaxed);
    return code;
  }
  while (true) {
    // acquire: pairs with the release in the handler.
    uint32_t seen = atomic_load_explicit(&ctp_sample_state, memory_order_acquire);
    if (seen == idle + 3) {
      *sample = ctp_sample_room;
      return 0;
    }
    // A handler that writes has next to nothing left to do.
    bool is_writing = seen == idle + 2;
    int code = ctp_futex_wait(word, seen, is_writing ? NULL : deadline, UINT32_MAX);
    if (code == ETIMEDOUT && !is_writing) {
      // relaxed: giving up orders nothing.
      if (atomic_compare_exchange_strong_explicit(
              &ctp_sample_state, &seen, idle, memory_order_relaxed, memory_order_relaxed)) {
        return ETIMEDOUT;
      }
    }
  }
}

int ctp_sample_own_frames(uintptr_t *frames, int capacity) {
  return backtrace((void **)frames, capacity);
}

bool ctp_find_code(
    uintptr_t address, const char **file, uintptr_t *base, const char **symbol,
    uintptr_t *symbol_address) {
  Dl_info info;
  if (dladdr((const void *)address, &info) == 0) return false;
  *file = info.dli_fname;
  *base = (uintptr_t)info.dli_fbase;
  *symbol = info.dli_sname;
  *symbol_address = (uintptr_t)info.dli_saddr;
  return true;
}

int64_t ctp_thread_cpu_time(uint32_t thread) {
  // The kernel's number for the clock of a thread, as in its posix-timers.h: the id inverted and
  // shifted, 4 for a thread, 2 for precise processor time.
  struct timespec time;
  clockid_t clock = (clockid_t)((~(unsigned int)thread << 3) | 6);
  if (clock_gettime(clock, &time) != 0) return -errno;
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
