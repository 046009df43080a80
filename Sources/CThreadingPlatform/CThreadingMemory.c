#define _GNU_SOURCE
#include "CThreadingPlatform.h"

#include <malloc.h>

size_t ctp_heap_in_use(void) {
  struct mallinfo2 figures = mallinfo2();
  return figures.uordblks + figures.hblkhd;
}

void ctp_heap_trim(void) { malloc_trim(0); }
