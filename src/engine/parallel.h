/* The one parallel loop of the library.
 *
 * Work is cut by the problem (n items), never by the threads that happen to be free; so a body that
 * computes each item alone gives the same bits with any number of threads. */
#ifndef CVP_ENGINE_PARALLEL_H
#define CVP_ENGINE_PARALLEL_H

#include "convop/context.h"

/* Computes items [begin, end). lane < cvp_lanes(context); a lane runs one range at a time, so that
 * scratch may be kept for each lane. */
typedef void cvp_range_body(void *arg, int lane, int64_t begin, int64_t end);

/* Replaces
 *     body(arg, 0, 0, n)
 * by calls whose ranges cover [0, n) once, for each lane from a contiguous share of its own first.
 * Returns when all have returned. Inside a body that runs on several lanes, and while another
 * thread holds the pool, it runs in the calling thread. Never fails: with no threads to be had it
 * is the plain call. */
void cvp_parallel(const convop_context *context, int64_t n, cvp_range_body *body, void *arg);

/* The same on at most max_lanes lanes (1 or more), for loops whose scratch is bounded. */
void cvp_parallel_on(const convop_context *context, int max_lanes, int64_t n, cvp_range_body *body,
                     void *arg);

/* Keeps the loops of this thread to itself while `alone` is 1: for work that is done before a
 * sleeping thread would be awake. Returns what was set before, to be set again afterwards. */
int cvp_parallel_alone(int alone);

/* Lanes that cvp_parallel uses at most, >= 1. */
int cvp_lanes(const convop_context *context);

#endif
