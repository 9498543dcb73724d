/* A pool of threads that spin a little, then sleep. See parallel.h for what it is used for. */
#ifndef CVP_ENGINE_POOL_H
#define CVP_ENGINE_POOL_H

#include "convop/base.h"

struct cvp_pool;

/* A pool for `threads` threads, the caller's among them (1..4096). Threads are made by the first
 * loop that can use them; a refused thread means fewer. NULL when there is no memory. */
struct cvp_pool *cvp_pool_create(int threads);
void cvp_pool_destroy(struct cvp_pool *pool);
int cvp_pool_threads(const struct cvp_pool *pool);

/* Runs body(arg, lane) for each lane < lanes at most once, on as many threads as take part; lane 0
 * is the caller's. Lanes that no thread has taken when the work is done are left out, so every body
 * must go on taking work until there is none. 0 if the pool is busy (nothing ran). */
int cvp_pool_run(struct cvp_pool *pool, int lanes, void (*body)(void *arg, int lane), void *arg);

#endif
