#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <unistd.h>

// Both touch memory of a stack without being part of what runs there, which the sanitizers would take
// for a mistake.
#define CTP_UNCHECKED __attribute__((no_sanitize("thread", "address"), noinline))

CTP_UNCHECKED uintptr_t ctp_lowest_nonzero_word(uintptr_t low, uintptr_t high) {
  for (; low < high; low += sizeof(uint64_t)) {
    if (*(const volatile uint64_t *)low != 0) return low;
  }
  return high;
}

CTP_UNCHECKED void ctp_clear_stack_from(uintptr_t low) {
  // Some room for this frame and for what the compiler keeps below it.
  uintptr_t high = ctp_frame_address() - 512;
  for (low = (low + 7) & ~(uintptr_t)7; low + sizeof(uint64_t) <= high; low += sizeof(uint64_t)) {
    *(volatile uint64_t *)low = 0;
  }
}

static pthread_t ctp_main_thread;

__attribute__((constructor)) static void ctp_note_main_thread(void) {
  if (gettid() == getpid()) ctp_main_thread = pthread_self();
}

pthread_t ctp_get_main_thread(void) { return ctp_main_thread; }
