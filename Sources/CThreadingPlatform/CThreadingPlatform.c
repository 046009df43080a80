#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

int ctp_futex_wait(
    const uint32_t *word, uint32_t expected, const struct timespec *deadline, uint32_t groups) {
  long result = syscall(
      SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL, groups);
  return result == 0 ? 0 : errno;
}

int ctp_futex_wake(const uint32_t *word, int count, uint32_t groups) {
  long result = syscall(
      SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count, NULL, NULL, groups);
  return result >= 0 ? (int)result : -errno;
}

int ctp_mutex_lock_until(pthread_mutex_t *mutex, const struct timespec *deadline) {
  return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, deadline);
}

int ctp_rwlock_read_until(pthread_rwlock_t *lock, const struct timespec *deadline) {
  return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, deadline);
}

int ctp_rwlock_write_until(pthread_rwlock_t *lock, const struct timespec *deadline) {
  return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, deadline);
}

_Static_assert(
    sizeof(ctp_condition) == sizeof(pthread_cond_t) &&
        _Alignof(ctp_condition) >= _Alignof(pthread_cond_t),
    "ctp_condition has another shape than pthread_cond_t");

static pthread_cond_t *ctp_native(ctp_condition *condition) { return (pthread_cond_t *)condition; }

int ctp_condition_init(ctp_condition *condition, const pthread_condattr_t *attributes) {
  return pthread_cond_init(ctp_native(condition), attributes);
}

int ctp_condition_destroy(ctp_condition *condition) {
  return pthread_cond_destroy(ctp_native(condition));
}

int ctp_condition_signal(ctp_condition *condition) {
  return pthread_cond_signal(ctp_native(condition));
}

int ctp_condition_broadcast(ctp_condition *condition) {
  return pthread_cond_broadcast(ctp_native(condition));
}

int ctp_condition_wait(ctp_condition *condition, pthread_mutex_t *mutex) {
  return pthread_cond_wait(ctp_native(condition), mutex);
}

int ctp_condition_wait_until(
    ctp_condition *condition, pthread_mutex_t *mutex, clockid_t clock,
    const struct timespec *deadline) {
  return pthread_cond_clockwait(ctp_native(condition), mutex, clock, deadline);
}

int ctp_semaphore_wait_until(sem_t *semaphore, const struct timespec *deadline) {
  return sem_clockwait(semaphore, CLOCK_MONOTONIC, deadline) == 0 ? 0 : errno;
}

sem_t *ctp_semaphore_open(
    const char *name, int flags, mode_t mode, unsigned int value, int *code) {
  sem_t *semaphore = sem_open(name, flags, mode, value);
  if (semaphore != SEM_FAILED) return semaphore;
  *code = errno;
  return NULL;
}

const char *ctp_errno_name(int code) { return strerrorname_np(code); }

int ctp_sleep_until(const struct timespec *deadline) {
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, deadline, NULL);
}

_Thread_local uint32_t ctp_cached_thread_id = 0;
_Thread_local void *ctp_thread_record = NULL;
_Thread_local ctp_record_ending ctp_thread_record_ending = NULL;
_Thread_local ctp_local_slot *ctp_local_slots = NULL;
_Thread_local size_t ctp_local_count = 0;
_Thread_local void *ctp_wait_interruption = NULL;
_Thread_local int64_t ctp_wait_limit = 0;
_Thread_local void *ctp_post_sheet = NULL;
_Thread_local uint32_t ctp_post_places = 0;

// A forked child runs on a copy of the parent's thread: same variables, another kernel id.
uint32_t ctp_fork_generation = 0;

// Defined by the layer of threads: null in a program that has only the layers below it. Weak, so that
// there is no moment at which the package is loaded and a fork not seen.
__attribute__((weak)) void ctp_threads_before_fork(void);
__attribute__((weak)) void ctp_threads_after_fork_in_parent(void);

static void ctp_before_fork(void) {
  if (ctp_threads_before_fork) ctp_threads_before_fork();
}

static void ctp_after_fork_in_parent(void) {
  if (ctp_threads_after_fork_in_parent) ctp_threads_after_fork_in_parent();
}

// What is to be stored in the child. Written by the thread that forks, with a lock held that all such
// threads take first.
typedef struct {
  uint32_t *word;
  ctp_fork_value value;
} ctp_fork_store;

static ctp_fork_store *ctp_fork_stores = NULL;
static size_t ctp_fork_count = 0;
static size_t ctp_fork_room = 0;

void ctp_fork_clear(void) { ctp_fork_count = 0; }

bool ctp_fork_add(const uint32_t *word, ctp_fork_value value) {
  if (ctp_fork_count == ctp_fork_room) {
    size_t room = ctp_fork_room == 0 ? 64 : ctp_fork_room * 2;
    ctp_fork_store *stores = realloc(ctp_fork_stores, room * sizeof *stores);
    if (stores == NULL) return false;
    ctp_fork_stores = stores;
    ctp_fork_room = room;
  }
  ctp_fork_stores[ctp_fork_count++] = (ctp_fork_store){(uint32_t *)word, value};
  return true;
}

// Plain C, and nothing but stores: threads that are gone may have been anywhere in the allocator and the
// Swift runtime.
static void ctp_after_fork_in_child(void) {
  uint32_t former_id = ctp_cached_thread_id;
  ctp_cached_thread_id = 0;
  uint32_t id = ctp_load_thread_id();
  ctp_fork_generation++;
  for (size_t index = 0; index < ctp_fork_count; index++) {
    uint32_t *word = ctp_fork_stores[index].word;
    switch (ctp_fork_stores[index].value) {
      case ctp_fork_zero: *word = 0; break;
      case ctp_fork_thread: *word = id; break;
      case ctp_fork_thread_if_own: *word = *word == former_id ? id : 0; break;
      case ctp_fork_process: *word = ctp_fork_generation; break;
    }
  }
  ctp_fork_count = 0;
}

__attribute__((constructor)) static void ctp_watch_fork(void) {
  pthread_atfork(ctp_before_fork, ctp_after_fork_in_parent, ctp_after_fork_in_child);
}

static _Thread_local bool ctp_holds_process = false;

bool ctp_get_holds_process(void) { return ctp_holds_process; }
void ctp_set_holds_process(bool holds) { ctp_holds_process = holds; }

uint32_t ctp_load_thread_id(void) {
  // The C library knows the id, and tells it as the number of the thread's clock, see
  // ctp_thread_cpu_time: a system call less for each thread.
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0 && (clock & 7) == 6) {
    ctp_cached_thread_id = ~((uint32_t)clock >> 3 | 7u << 29);
  }
  if (ctp_cached_thread_id == 0) ctp_cached_thread_id = (uint32_t)syscall(SYS_gettid);
  return ctp_cached_thread_id;
}

int ctp_thread_set_name(pthread_t thread, const char *name) {
  return pthread_setname_np(thread, name);
}

int ctp_thread_get_name(pthread_t thread, char *buffer, size_t size) {
  return pthread_getname_np(thread, buffer, size);
}

int ctp_thread_get_attributes(pthread_t thread, pthread_attr_t *attributes) {
  return pthread_getattr_np(thread, attributes);
}

const char *ctp_program_name(void) { return program_invocation_short_name; }

int ctp_eventfd(unsigned int initial) {
  int descriptor = eventfd(initial, EFD_CLOEXEC | EFD_NONBLOCK);
  return descriptor >= 0 ? descriptor : -errno;
}

int ctp_duplicate_onto(int source, int target) {
  return dup3(source, target, O_CLOEXEC) >= 0 ? 0 : errno;
}

int ctp_epoll_create(void) {
  int descriptor = epoll_create1(EPOLL_CLOEXEC);
  return descriptor >= 0 ? descriptor : -errno;
}

int ctp_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : errno;
}

int ctp_epoll_wait(
    int epoll, struct epoll_event *events, int capacity, const struct timespec *timeout) {
#ifdef SYS_epoll_pwait2
  long count = syscall(SYS_epoll_pwait2, epoll, events, capacity, timeout, NULL, 0);
  if (count >= 0) return (int)count;
  if (errno != ENOSYS && errno != EPERM) return -errno;
#endif
  // Before Linux 5.11, or refused by a seccomp filter: whole milliseconds, rounded up.
  int milliseconds = -1;
  if (timeout) {
    int64_t wanted = (int64_t)timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
    milliseconds = wanted > 2147483647 ? 2147483647 : (int)wanted;
  }
  int fallback = epoll_wait(epoll, events, capacity, milliseconds);
  return fallback >= 0 ? fallback : -errno;
}

int ctp_timerfd(clockid_t clock) {
  int descriptor = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
  return descriptor >= 0 ? descriptor : -errno;
}

int ctp_timerfd_set(int descriptor, int64_t nanoseconds, bool cancels) {
  struct itimerspec moment = {
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  // TFD_TIMER_CANCEL_ON_SET, which older C libraries do not name.
  int flags = TFD_TIMER_ABSTIME | (cancels ? 1 << 1 : 0);
  return timerfd_settime(descriptor, flags, &moment, NULL) == 0 ? 0 : errno;
}

int ctp_inotify(void) {
  int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  return descriptor >= 0 ? descriptor : -errno;
}

int ctp_inotify_add(int inotify, const char *path, uint32_t events) {
  int watch = inotify_add_watch(inotify, path, events);
  return watch >= 0 ? watch : -errno;
}

int ctp_inotify_remove(int inotify, int watch) {
  return inotify_rm_watch(inotify, watch) == 0 ? 0 : errno;
}

int ctp_mq_open(const char *name, int flags, mode_t mode, long capacity, long size) {
  struct mq_attr limits = {.mq_maxmsg = capacity, .mq_msgsize = size};
  mqd_t queue = mq_open(name, flags | O_CLOEXEC | O_NONBLOCK, mode, &limits);
  return queue >= 0 ? (int)queue : -errno;
}

int ctp_mq_limits(int queue, long *capacity, long *size, long *count) {
  struct mq_attr limits;
  if (mq_getattr(queue, &limits) != 0) return errno;
  *capacity = limits.mq_maxmsg;
  *size = limits.mq_msgsize;
  *count = limits.mq_curmsgs;
  return 0;
}

int ctp_mq_send(int queue, const void *bytes, size_t size, unsigned int priority) {
  return mq_send(queue, bytes, size, priority) == 0 ? 0 : errno;
}

ssize_t ctp_mq_receive(int queue, void *bytes, size_t size, unsigned int *priority) {
  ssize_t got = mq_receive(queue, bytes, size, priority);
  return got >= 0 ? got : -errno;
}

int ctp_mq_unlink(const char *name) { return mq_unlink(name) == 0 ? 0 : errno; }

int ctp_message_sockets(int ends[2]) {
  int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  return socketpair(AF_UNIX, kind, 0, ends) == 0 ? 0 : errno;
}

int ctp_socket_send(int socket, const void *bytes, size_t size) {
  return send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ? 0 : errno;
}

ssize_t ctp_socket_receive(int socket, void *bytes, size_t size) {
  ssize_t got = recv(socket, bytes, size, MSG_TRUNC | MSG_DONTWAIT);
  return got >= 0 ? got : -errno;
}

int ctp_poll_one(int descriptor, short events, const struct timespec *timeout) {
  struct pollfd entry = {.fd = descriptor, .events = events};
  int ready = ppoll(&entry, 1, timeout, NULL);
  return ready < 0 ? -errno : ready == 0 ? 0 : entry.revents;
}

int ctp_allowed_processors(void *mask, size_t size) {
  return sched_getaffinity(0, size, mask) == 0 ? CPU_COUNT_S(size, (cpu_set_t *)mask) : -errno;
}

static int ctp_start_processors = 1;

// Before `main`: later, threads may have bound themselves to processors, and others not.
__attribute__((constructor)) static void ctp_count_processors(void) {
  cpu_set_t mask;
  int count = ctp_allowed_processors(&mask, sizeof mask);
  // More processors than the usual mask has room for.
  if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (count > 1) ctp_start_processors = count;
}

int ctp_processors_at_start(void) { return ctp_start_processors; }

int ctp_pidfd_open(pid_t process) {
  long descriptor = syscall(SYS_pidfd_open, process, 0);
  return descriptor >= 0 ? (int)descriptor : -errno;
}

int ctp_wait_pidfd(int pidfd, bool reaps, int *code, int *status) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  int result;
  do {
    // 3: P_PIDFD, which older C libraries do not name.
    result = waitid((idtype_t)3, pidfd, &info, WEXITED | WNOHANG | (reaps ? 0 : WNOWAIT));
  } while (result != 0 && errno == EINTR);
  if (result != 0) return errno;
  *code = info.si_code;
  *status = info.si_status;
  return 0;
}
