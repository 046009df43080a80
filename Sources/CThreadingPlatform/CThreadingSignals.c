#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

// A slot is linked into its signal's list once and stays there for the life of the process, so the
// handler may walk the list at any moment. `state` packs the descriptor (low half, plus 1; 0 means
// free) with the number of handlers that are using it now (high half): unsubscribing takes the
// descriptor out, then waits for those handlers, so the caller may close it.
struct ctp_signal_slot {
  _Atomic uint64_t state;
  struct ctp_signal_slot *next;
};

static _Atomic(struct ctp_signal_slot *) ctp_signal_lists[_NSIG];

static const uint64_t ctp_one_user = (uint64_t)1 << 32;

static void ctp_signal_forward(int number) {
  int saved = errno;
  // acquire: pairs with the release that linked the slot.
  struct ctp_signal_slot *slot =
      atomic_load_explicit(&ctp_signal_lists[number], memory_order_acquire);
  for (; slot; slot = slot->next) {
    // acquire: pairs with the release in ctp_signal_subscribe; the add also tells
    // ctp_signal_unsubscribe that the descriptor is in use.
    uint64_t state = atomic_fetch_add_explicit(&slot->state, ctp_one_user, memory_order_acquire);
    uint32_t entry = (uint32_t)state;
    if (entry != 0) {
      uint64_t one = 1;
      ssize_t written = write((int)(entry - 1), &one, sizeof one);
      (void)written;  // EAGAIN only when 2^64 - 2 deliveries are unread: nothing is lost.
    }
    // release: pairs with the acquire in ctp_signal_unsubscribe.
    atomic_fetch_sub_explicit(&slot->state, ctp_one_user, memory_order_release);
  }
  errno = saved;
}

// A forked child shares the eventfds with its parent: a signal to the child shall not be reported
// to the parent. Handlers that other threads were in do not go on in the child.
static void ctp_signal_forget_all(void) {
  for (int number = 0; number < _NSIG; number++) {
    struct ctp_signal_slot *slot =
        atomic_load_explicit(&ctp_signal_lists[number], memory_order_relaxed);
    for (; slot; slot = slot->next) atomic_store_explicit(&slot->state, 0, memory_order_relaxed);
  }
}

__attribute__((constructor)) static void ctp_signal_watch_fork(void) {
  pthread_atfork(NULL, NULL, ctp_signal_forget_all);
}

int ctp_signal_install(int number, struct sigaction *previous) {
  struct sigaction action = {.sa_handler = ctp_signal_forward, .sa_flags = SA_RESTART};
  sigfillset(&action.sa_mask);
  return sigaction(number, &action, previous) == 0 ? 0 : errno;
}

int ctp_signal_restore(int number, const struct sigaction *previous) {
  return sigaction(number, previous, NULL) == 0 ? 0 : errno;
}

ctp_signal_slot *ctp_signal_subscribe(int number, int descriptor) {
  if (number <= 0 || number >= _NSIG) return NULL;
  uint64_t entry = (uint64_t)(uint32_t)descriptor + 1;
  struct ctp_signal_slot *slot =
      atomic_load_explicit(&ctp_signal_lists[number], memory_order_acquire);
  for (; slot; slot = slot->next) {
    uint64_t expected = atomic_load_explicit(&slot->state, memory_order_relaxed);
    while ((uint32_t)expected == 0) {
      // release: the handler that reads the descriptor sees the eventfd that it names.
      if (atomic_compare_exchange_weak_explicit(
              &slot->state, &expected, expected | entry, memory_order_release,
              memory_order_relaxed))
        return slot;
    }
  }
  slot = malloc(sizeof *slot);
  if (!slot) return NULL;
  atomic_init(&slot->state, entry);
  slot->next = atomic_load_explicit(&ctp_signal_lists[number], memory_order_relaxed);
  // release: publishes the slot's fields to the handler.
  while (!atomic_compare_exchange_weak_explicit(
      &ctp_signal_lists[number], &slot->next, slot, memory_order_release, memory_order_relaxed)) {
  }
  return slot;
}

void ctp_signal_unsubscribe(ctp_signal_slot *slot) {
  // Taking the descriptor out (a subtraction of the low half) makes the slot free at once; a new
  // subscriber may take it while old handlers still leave, which the user count allows for.
  uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(
      &slot->state, &state, state & ~(uint64_t)UINT32_MAX, memory_order_acquire,
      memory_order_relaxed)) {
  }
  // acquire: pairs with the release of each handler that leaves. A handler runs for a few
  // microseconds and never blocks (the descriptor is non-blocking), so this loop is short. The
  // caller must not be a handler itself.
  while ((atomic_load_explicit(&slot->state, memory_order_acquire) >> 32) != 0) {
    sched_yield();
  }
}
