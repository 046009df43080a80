// 256 KiB of thread-local data that every thread of the program has from its start.
#ifndef CTHREADLOCALBLOCK_H
#define CTHREADLOCALBLOCK_H

#include <stddef.h>

/// Writes to the calling thread's block, and returns its size in bytes.
size_t ctb_touch(void);

#endif
