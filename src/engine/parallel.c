/* How a loop is cut. Lanes take contiguous ranges off one ticket: large ones first, so that a lane
 * streams through memory, then smaller and smaller ones, so that all end at about the same time. */
#include "src/engine/parallel.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "src/common/fpenv.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/context.h"
#include "src/engine/pool.h"

/* One loop. The gaps keep the ticket, which all lanes write, away from what they only read. */
struct loop {
    cvp_range_body *body;
    void *arg;
    int64_t n;
    int64_t shares; /* a claim takes this part of what is left */
    int stage;      /* of the caller, and so of every lane */
    char gap1[64];
    _Atomic int64_t next; /* items below it are taken; <= n */
    char gap2[64];
};

/* 1 while this thread is a lane of a loop. */
static _Thread_local int inside;

static int claim(struct loop *loop, int64_t *begin, int64_t *end)
{
    int64_t at = atomic_load_explicit(&loop->next, memory_order_relaxed);
    int64_t size;
    do {
        int64_t left = loop->n - at;
        if (left <= 0) return 0;
        size = cvp_max_i64(left / loop->shares, 1);
    } while (!atomic_compare_exchange_weak_explicit(&loop->next, &at, at + size,
                                                    memory_order_relaxed, memory_order_relaxed));
    *begin = at;
    *end = at + size;
    return 1;
}

static void run_lane(void *arg, int lane)
{
    struct loop *loop = arg;
    int outer = inside;
    inside = 1;
    int stage = cvp_stage_enter(loop->stage);
    int64_t begin, end;
    while (claim(loop, &begin, &end)) loop->body(loop->arg, lane, begin, end);
    cvp_stage_leave(stage);
    inside = outer;
}

/* The host may run these on any threads, also one after the other. */
static void run_host_lane(void *arg, int64_t lane)
{
    unsigned host = cvp_fpenv_enter();
    run_lane(arg, (int)lane);
    cvp_fpenv_leave(host);
}

void cvp_parallel(const convop_context *context, int64_t n, cvp_range_body *body, void *arg)
{
    cvp_parallel_on(context, INT_MAX, n, body, arg);
}

void cvp_parallel_on(const convop_context *context, int max_lanes, int64_t n, cvp_range_body *body,
                     void *arg)
{
    const convop_context *c = NULL;
    if (n <= 0) return;
    if (n == 1 || max_lanes == 1 || inside || cvp_context_get(context, &c) != CONVOP_OK ||
        c->num_threads == 1) {
        body(arg, 0, 0, n);
        return;
    }
    int lanes = (int)cvp_min_i64(cvp_min_i64(c->num_threads, max_lanes), n);
    struct loop loop = {.body = body, .arg = arg, .n = n, .shares = 2 * (int64_t)lanes};
    atomic_init(&loop.next, 0);
    int ran = 1;
    loop.stage = cvp_stage_enter(CONVOP_STAGE_THREADS);
    if (c->parallel_for != NULL)
        c->parallel_for(c->parallel_for_user, lanes, run_host_lane, &loop);
    else
        ran = cvp_pool_run(c->pool, lanes, run_lane, &loop);
    cvp_stage_leave(loop.stage);
    if (!ran) body(arg, 0, 0, n);
}

void convop_parallel(const convop_context *context, int64_t n,
                     void (*body)(void *arg, int lane, int64_t begin, int64_t end), void *arg)
{
    if (body != NULL) cvp_parallel(context, n, body, arg);
}

int cvp_lanes(const convop_context *context)
{
    const convop_context *c = NULL;
    return cvp_context_get(context, &c) == CONVOP_OK ? c->num_threads : 1;
}
