#include "CThreadLocalBlock.h"

static _Thread_local volatile char ctb_block[256 * 1024];

size_t ctb_touch(void) {
  ctb_block[0] = 1;
  ctb_block[sizeof ctb_block - 1] = 1;
  return sizeof ctb_block;
}
