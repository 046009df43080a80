#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <sys/syscall.h>
#include <unistd.h>

int ctp_scheduling_set(uint32_t thread, const ctp_scheduling *scheduling) {
  return syscall(SYS_sched_setattr, thread, scheduling, 0) == 0 ? 0 : errno;
}

int ctp_scheduling_get(uint32_t thread, ctp_scheduling *scheduling) {
  return syscall(SYS_sched_getattr, thread, scheduling, sizeof *scheduling, 0) == 0 ? 0 : errno;
}

int ctp_affinity_set(uint32_t thread, const void *mask, size_t size) {
  return syscall(SYS_sched_setaffinity, thread, size, mask) == 0 ? 0 : errno;
}

int ctp_affinity_get(uint32_t thread, void *mask, size_t size) {
  long bytes = syscall(SYS_sched_getaffinity, thread, size, mask);
  return bytes >= 0 ? (int)bytes : -errno;
}
