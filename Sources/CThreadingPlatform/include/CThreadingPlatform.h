// What Swift cannot call by itself: variadic system calls, macros, thread-local variables and
// functions that the Glibc module does not show.
//
// One function makes one call and adds no logic. A failure is returned as an errno value (0 means
// success), or as a negative errno where the call also returns a number. `errno` itself is not
// part of the contract.
#ifndef CTHREADINGPLATFORM_H
#define CTHREADINGPLATFORM_H

// No _GNU_SOURCE here: it would give types of the C library another shape than the Glibc module
// has, which the importer refuses. The .c files define it.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <time.h>

#pragma clang assume_nonnull begin

// MARK: Futex

/// Sleeps while `*word == expected`, until woken as one of `groups` (bits, one at least) or until
/// `deadline` (absolute, on the monotonic clock; null waits for ever). Returns 0, EAGAIN (the word
/// differed), EINTR or ETIMEDOUT.
int ctp_futex_wait(
    const uint32_t *word, uint32_t expected, const struct timespec *_Nullable deadline,
    uint32_t groups);

/// Wakes at most `count` threads that sleep on `word` as one of `groups`. Returns how many, or a
/// negative errno.
int ctp_futex_wake(const uint32_t *word, int count, uint32_t groups);

// MARK: POSIX objects

/// Locks, giving up at `deadline` on the monotonic clock. Returns an errno.
int ctp_mutex_lock_until(pthread_mutex_t *mutex, const struct timespec *deadline);

/// Locks for reading, giving up at `deadline` on the monotonic clock. Returns an errno.
int ctp_rwlock_read_until(pthread_rwlock_t *lock, const struct timespec *deadline);

/// Locks for writing, giving up at `deadline` on the monotonic clock. Returns an errno.
int ctp_rwlock_write_until(pthread_rwlock_t *lock, const struct timespec *deadline);

/// The kernel id of the thread that holds a mutex, or 0: what the C library notes there for itself.
static inline uint32_t ctp_mutex_owner(const pthread_mutex_t *mutex) {
  return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

/// How often its owner has taken a recursive mutex.
static inline uint32_t ctp_mutex_depth(const pthread_mutex_t *mutex) {
  return __atomic_load_n(&mutex->__data.__count, __ATOMIC_RELAXED);
}

/// The kind of a mutex with the flags of the C library.
static inline uint32_t ctp_mutex_kind(const pthread_mutex_t *mutex) {
  return (uint32_t)__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

/// The kernel id of the thread that holds a lock for writing, or 0.
static inline uint32_t ctp_rwlock_writer(const pthread_rwlock_t *lock) {
  return (uint32_t)__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
}

/// The readers' word of a lock: how many they are, above three bits.
static inline uint32_t ctp_rwlock_readers(const pthread_rwlock_t *lock) {
  return __atomic_load_n(&lock->__data.__readers, __ATOMIC_RELAXED);
}

/// A `pthread_cond_t`, as plain numbers: the compiler takes that union for safe or for unsafe memory
/// depending on the order in which it comes upon its parts.
typedef struct {
  uint64_t words[(sizeof(pthread_cond_t) + 7) / 8];
} ctp_condition;

/// The waiters' word of a condition: how many they are, above three bits.
static inline uint32_t ctp_condition_waiters(const ctp_condition *condition) {
  return __atomic_load_n(&((const pthread_cond_t *)condition)->__data.__wrefs, __ATOMIC_RELAXED);
}

/// Makes a condition in the given memory. Returns an errno.
int ctp_condition_init(ctp_condition *condition, const pthread_condattr_t *attributes);

/// Ends a condition. Returns an errno.
int ctp_condition_destroy(ctp_condition *condition);

/// Wakes one thread. Returns an errno.
int ctp_condition_signal(ctp_condition *condition);

/// Wakes all threads. Returns an errno.
int ctp_condition_broadcast(ctp_condition *condition);

/// Waits for a condition without a limit. Returns an errno.
int ctp_condition_wait(ctp_condition *condition, pthread_mutex_t *mutex);

/// Waits, giving up at `deadline` on the given clock. Returns an errno.
int ctp_condition_wait_until(
    ctp_condition *condition, pthread_mutex_t *mutex, clockid_t clock,
    const struct timespec *deadline);

/// Takes a semaphore, giving up at `deadline` on the monotonic clock. Returns an errno.
int ctp_semaphore_wait_until(sem_t *semaphore, const struct timespec *deadline);

/// Opens a named semaphore. Returns it, or null with the errno in `code`.
sem_t *_Nullable ctp_semaphore_open(
    const char *name, int flags, mode_t mode, unsigned int value, int *code);

// MARK: Errors

/// The symbol of an errno value ("EAGAIN"), or null for a number that has none.
const char *_Nullable ctp_errno_name(int code);

// MARK: Time

/// Nanoseconds of the given clock. Clocks that exist do not fail.
static inline int64_t ctp_clock_nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/// Sleeps until `deadline` on the monotonic clock. Returns 0 or EINTR.
int ctp_sleep_until(const struct timespec *deadline);

// MARK: The calling thread

/// Kernel id of the calling thread, cached in a thread-local variable; 0 before the first call to
/// `ctp_thread_id`.
extern _Thread_local uint32_t ctp_cached_thread_id;

/// Asks the kernel for the calling thread's id and caches it.
uint32_t ctp_load_thread_id(void);

/// Kernel id of the calling thread: one thread-local read after the first call.
static inline uint32_t ctp_thread_id(void) {
  uint32_t cached = ctp_cached_thread_id;
  return __builtin_expect(cached != 0, 1) ? cached : ctp_load_thread_id();
}

/// The package's record of the calling thread, or null when it has none yet.
extern _Thread_local void *_Nullable ctp_thread_record;

static inline void *_Nullable ctp_get_thread_record(void) { return ctp_thread_record; }
static inline void ctp_set_thread_record(void *_Nullable record) { ctp_thread_record = record; }

/// What is to be called with the record when the thread ends, or null.
typedef bool (*ctp_record_ending)(void *record);
extern _Thread_local ctp_record_ending _Nullable ctp_thread_record_ending;

static inline ctp_record_ending _Nullable ctp_get_record_ending(void) {
  return ctp_thread_record_ending;
}
static inline void ctp_set_record_ending(ctp_record_ending ending) {
  ctp_thread_record_ending = ending;
}

/// What can end the calling thread's waits that have the limit `ctp_wait_limit`, or null.
extern _Thread_local void *_Nullable ctp_wait_interruption;
extern _Thread_local int64_t ctp_wait_limit;

static inline void *_Nullable ctp_get_wait_interruption(void) { return ctp_wait_interruption; }
static inline int64_t ctp_get_wait_limit(void) { return ctp_wait_limit; }
static inline void ctp_set_wait_interruption(void *_Nullable interruption, int64_t limit) {
  ctp_wait_interruption = interruption;
  ctp_wait_limit = limit;
}

/// One thread's value of one thread-local variable of the package.
typedef struct {
  /// The variable that the value belongs to; 0 for none, or while the value is being changed.
  uint64_t owner;
  /// Where the value lies.
  void *_Nullable value;
  /// The object that owns the value.
  void *_Nullable box;
} ctp_local_slot;

/// The calling thread's values, by the number of the variable.
extern _Thread_local ctp_local_slot *_Nullable ctp_local_slots;
extern _Thread_local size_t ctp_local_count;

static inline ctp_local_slot *_Nullable ctp_get_local_slots(void) { return ctp_local_slots; }
static inline size_t ctp_get_local_count(void) { return ctp_local_count; }
static inline void ctp_set_local_slots(ctp_local_slot *_Nullable slots, size_t count) {
  ctp_local_slots = slots;
  ctp_local_count = count;
}

/// The sheet of memory that the calling thread writes its posts into, and how many places of it are
/// taken.
extern _Thread_local void *_Nullable ctp_post_sheet;
extern _Thread_local uint32_t ctp_post_places;

static inline void *_Nullable ctp_get_post_sheet(void) { return ctp_post_sheet; }
static inline uint32_t ctp_get_post_places(void) { return ctp_post_places; }
static inline void ctp_set_post_sheet(void *_Nullable sheet, uint32_t places) {
  ctp_post_sheet = sheet;
  ctp_post_places = places;
}
static inline void ctp_set_post_places(uint32_t places) { ctp_post_places = places; }

/// A hint to the processor that the caller spins on a word.
static inline void ctp_spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

/// How many processors the calling thread may run on; `mask` is room for `size` bytes. Returns the
/// number, or a negative errno (EINVAL when the room is too small for the kernel's mask).
int ctp_allowed_processors(void *mask, size_t size);

/// How many processors the process could use when it was started; at least 1.
int ctp_processors_at_start(void);

// MARK: Thread attributes that the Glibc module does not show

/// Names a live thread (at most 15 bytes and a terminating zero). Returns an errno.
int ctp_thread_set_name(pthread_t thread, const char *name);

/// Reads the name of a live thread. Returns an errno.
int ctp_thread_get_name(pthread_t thread, char *buffer, size_t size);

/// Fills `attributes` with what is in force for a live thread. Returns an errno.
int ctp_thread_get_attributes(pthread_t thread, pthread_attr_t *attributes);

/// The file name of the running program, without its folder: what the system lists it as.
const char *ctp_program_name(void);

// MARK: Samples of other threads

enum { CTP_SAMPLE_FRAMES = 128 };

/// Where a thread was when it was asked.
typedef struct {
  uintptr_t stack_pointer;
  /// Return addresses, innermost first; the first is where the thread itself was.
  uintptr_t frames[CTP_SAMPLE_FRAMES];
  int count;
} ctp_sample;

/// Whether the C library can walk a stack inside a signal handler: from 2.35 on it takes no lock.
bool ctp_sample_has_frames(void);

/// Installs the handler of samples for a signal. Returns an errno.
int ctp_sample_install(int signal);

/// Whether nobody has a handler for a signal or ignores it.
bool ctp_signal_is_free(int signal);

/// Has another thread of the process, by kernel id, tell where it is, with or without the callers of
/// that place, and waits for it until `deadline` on the monotonic clock. For one caller at a time.
/// Returns 0, ETIMEDOUT or what rt_tgsigqueueinfo(2) refuses.
int ctp_sample_take(
    uint32_t thread, int signal, bool with_frames, const struct timespec *deadline,
    ctp_sample *sample);

/// The callers of the calling thread. Returns how many addresses were written.
int ctp_sample_own_frames(uintptr_t *frames, int capacity);

/// What an address of code belongs to, as far as the dynamic linker knows: the file, where the file
/// lies in memory, and the nearest exported symbol below the address. Returns whether there is a file.
bool ctp_find_code(
    uintptr_t address, const char *_Nullable *_Nonnull file, uintptr_t *base,
    const char *_Nullable *_Nonnull symbol, uintptr_t *symbol_address);

/// The processor time that a thread of this process has used, by kernel id, in nanoseconds; or a
/// negative errno.
int64_t ctp_thread_cpu_time(uint32_t thread);

// MARK: Forks and exits

/// How many forks lie between the process that was executed and this one.
extern uint32_t ctp_fork_generation;

static inline uint32_t ctp_get_fork_generation(void) { return ctp_fork_generation; }

/// What a word is to hold in the child of a fork.
typedef enum {
  /// Zero: a lock is free.
  ctp_fork_zero,
  /// The kernel id of the child's thread.
  ctp_fork_thread,
  /// The same if it held the id that the thread had in the parent; else zero.
  ctp_fork_thread_if_own,
  /// The child's fork generation.
  ctp_fork_process,
} ctp_fork_value;

/// Forgets what was to be stored in the child of a fork.
void ctp_fork_clear(void);

/// Has a word stored in the child of the fork that the calling thread is about to make. Returns false if
/// there is no memory.
bool ctp_fork_add(const uint32_t *word, ctp_fork_value value);

/// Whether the calling thread keeps the process open.
bool ctp_get_holds_process(void);
void ctp_set_holds_process(bool holds);

// MARK: Stacks

/// The address of the caller's frame on the stack, roughly.
static inline uintptr_t ctp_frame_address(void) { return (uintptr_t)__builtin_frame_address(0); }

/// The lowest address of a word in [low, high) that is not zero, or `high`. All of it must be
/// readable; another thread may be writing there. The addresses are multiples of 8.
uintptr_t ctp_lowest_nonzero_word(uintptr_t low, uintptr_t high);

/// Sets all words from `low` up to a little below the caller's frame to zero: what the calling thread
/// does not use of its stack.
void ctp_clear_stack_from(uintptr_t low);

/// The main thread, or 0 if the package was loaded by another one.
pthread_t ctp_get_main_thread(void);

// MARK: Scheduling

/// How the kernel schedules a thread: the first version of its `struct sched_attr`, see
/// sched_setattr(2). `size` is the size of this structure.
typedef struct {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;
  uint64_t deadline;
  uint64_t period;
} ctp_scheduling;

/// Sets how a thread is scheduled, by kernel id. Returns an errno.
int ctp_scheduling_set(uint32_t thread, const ctp_scheduling *scheduling);

/// Reads how a thread is scheduled, by kernel id. Returns an errno.
int ctp_scheduling_get(uint32_t thread, ctp_scheduling *scheduling);

/// Sets the processors that a thread may run on, as a mask of `size` bytes. Returns an errno.
int ctp_affinity_set(uint32_t thread, const void *mask, size_t size);

/// Reads the mask of a thread. Returns how many bytes were written, or a negative errno.
int ctp_affinity_get(uint32_t thread, void *mask, size_t size);

// MARK: Memory

/// Bytes that the C library's allocator has given out and not got back.
size_t ctp_heap_in_use(void);

/// Has the C library's allocator give free memory back to the system.
void ctp_heap_trim(void);

// MARK: Descriptors

/// A non-blocking, close-on-exec eventfd. Returns the descriptor or a negative errno.
int ctp_eventfd(unsigned int initial);

/// Makes `target` another number of what `source` stands for, close-on-exec; what `target` stood for
/// before is closed. Returns an errno.
int ctp_duplicate_onto(int source, int target);

/// A close-on-exec epoll instance. Returns the descriptor or a negative errno.
int ctp_epoll_create(void);

/// Adds, changes or removes a descriptor. `token` comes back in the event. Returns an errno.
int ctp_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

/// Waits for events; a null timeout waits for ever. Returns how many, or a negative errno.
int ctp_epoll_wait(
    int epoll, struct epoll_event *events, int capacity, const struct timespec *_Nullable timeout);

/// The token of an event (the field is a union in a packed structure).
static inline uint64_t ctp_epoll_event_token(const struct epoll_event *event) {
  return event->data.u64;
}

/// A non-blocking, close-on-exec timerfd on a clock. Returns the descriptor or a negative errno.
int ctp_timerfd(clockid_t clock);

/// Has a timerfd become readable at a moment of its clock, given in nanoseconds; 0 for never. With
/// `cancels`, also when the clock is set. Returns an errno.
int ctp_timerfd_set(int descriptor, int64_t nanoseconds, bool cancels);

// MARK: Watching files

/// A non-blocking, close-on-exec inotify instance. Returns the descriptor or a negative errno.
int ctp_inotify(void);

/// Starts to watch a path, or changes what it is watched for. Returns the number of the watch or a
/// negative errno.
int ctp_inotify_add(int inotify, const char *path, uint32_t events);

/// Stops watching. Returns an errno.
int ctp_inotify_remove(int inotify, int watch);

// MARK: Messages between processes

/// Opens a POSIX message queue, close-on-exec; `capacity` and `size` matter when it is made. Returns
/// the descriptor or a negative errno.
int ctp_mq_open(const char *name, int flags, mode_t mode, long capacity, long size);

/// The limits of a queue and how many messages wait in it. Returns an errno.
int ctp_mq_limits(int queue, long *capacity, long *size, long *count);

/// Sends a message. Returns an errno.
int ctp_mq_send(int queue, const void *bytes, size_t size, unsigned int priority);

/// Receives a message. Returns its size or a negative errno.
ssize_t ctp_mq_receive(int queue, void *bytes, size_t size, unsigned int *priority);

/// Removes the name of a queue. Returns an errno.
int ctp_mq_unlink(const char *name);

/// Two connected Unix-domain sockets that keep the bounds of messages, non-blocking and
/// close-on-exec. Returns an errno.
int ctp_message_sockets(int ends[_Nonnull 2]);

/// Sends a message; a peer that has gone raises no signal. Returns an errno.
int ctp_socket_send(int socket, const void *bytes, size_t size);

/// Receives a message. Returns its full size, which may be more than there was room for, or a
/// negative errno.
ssize_t ctp_socket_receive(int socket, void *bytes, size_t size);

/// Waits until a descriptor is ready for one of `events`, as in poll(2); a null timeout waits for
/// ever. Returns what is ready, 0 after the timeout, or a negative errno.
int ctp_poll_one(int descriptor, short events, const struct timespec *_Nullable timeout);

// MARK: Processes

/// A descriptor, close-on-exec, that becomes readable when the process ends. Returns the descriptor
/// or a negative errno.
int ctp_pidfd_open(pid_t process);

/// How a child, given by its pidfd, has ended: `code` is one of CLD_EXITED, CLD_KILLED and
/// CLD_DUMPED, `status` the exit code or the signal; both 0 while it runs. With `reaps`, the ended
/// child is gone afterwards. Returns an errno.
int ctp_wait_pidfd(int pidfd, bool reaps, int *code, int *status);

// MARK: Signals

/// Installs `ctp_signal_forward` as the handler of `number`, keeping the former action in
/// `previous`. Returns an errno.
int ctp_signal_install(int number, struct sigaction *previous);

/// Puts a former action back. Returns an errno.
int ctp_signal_restore(int number, const struct sigaction *previous);

/// Descriptors told of each signal: one list per signal number, of slots that are reused and never
/// freed, so the handler can walk it at any moment.
typedef struct ctp_signal_slot ctp_signal_slot;

/// Has the handler of `number` add 1 to the eventfd `descriptor` on each delivery. Returns the
/// slot, or null when memory ran out or the number is out of range.
ctp_signal_slot *_Nullable ctp_signal_subscribe(int number, int descriptor);

/// Ends a subscription. Afterwards the handler does not touch the descriptor that the slot held.
void ctp_signal_unsubscribe(ctp_signal_slot *slot);

#pragma clang assume_nonnull end

#endif
