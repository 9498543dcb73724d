/* All memory of the library comes through here.
 *
 * Objects (cvp_malloc) are small and few. Buffers (cvp_buffer_alloc) are 64-byte aligned scratch
 * and arrays: pooled by size, 2 MB-aligned with huge pages asked for where large, given back by
 * cvp_pool_trim(); or they come from a context's hooks. Both count for failure injection. */
#ifndef CVP_COMMON_ALLOC_H
#define CVP_COMMON_ALLOC_H

#include "convop/context.h"

#define CVP_BUFFER_ALIGN 64

/* NULL when there is no memory. Freed by cvp_free, which accepts NULL. */
void *cvp_malloc(size_t bytes);
void *cvp_calloc(size_t count, size_t bytes);
void *cvp_realloc(void *old, size_t bytes);
char *cvp_strdup(const char *text);
void cvp_free(void *memory);

/* hooks NULL (or hooks->alloc NULL): the pool. bytes 0 gives a pointer that may not be read. */
void *cvp_buffer_alloc(const convop_allocator *hooks, size_t bytes);
void cvp_buffer_free(const convop_allocator *hooks, void *memory, size_t bytes);

/* Gives the pool's free buffers back to the system; returns how many bytes. */
size_t cvp_pool_trim(void);

/* Bytes the pool holds: handed out, and kept for later. For `convop info` and tests. */
void cvp_pool_usage(size_t *used, size_t *kept);

/* Failure injection, for tests: the n-th allocation from now on (1 is the next) answers NULL, once;
 * 0 switches it off. cvp_alloc_calls() counts allocations since the last call of cvp_alloc_fail_at,
 * cvp_alloc_live() objects and buffers not freed yet. */
void cvp_alloc_fail_at(uint64_t n);
uint64_t cvp_alloc_calls(void);
uint64_t cvp_alloc_live(void);

#endif
