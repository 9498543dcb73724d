/* How a loop is cut. Each lane has a contiguous share, the same in every loop of as many items, so
 * that it streams through memory and meets what it wrote in the loop before in its own cache. It
 * takes half of what is left of it at a time; a lane whose share is done takes from the others', so
 * that all end at about the same time and nobody waits for a lane that no thread came to run. */
#include "src/engine/parallel.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>

#include "src/common/fpenv.h"
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/context.h"
#include "src/engine/pool.h"

#define MAX_SHARES 64 /* further lanes begin at those of others */

/* Items [next, end) of a share are to be done. A cache line of its own: one lane mostly writes it.
 */
struct share {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
};

struct loop {
    cvp_range_body *body;
    void *arg;
    int stage; /* of the caller, and so of every lane */
    int shares;
    struct share share[MAX_SHARES];
};

/* 1 while this thread is a lane of a loop, or keeps its loops to itself. */
static _Thread_local int inside;

static void cut(struct loop *loop, int lanes, int64_t n)
{
    loop->shares = lanes < MAX_SHARES ? lanes : MAX_SHARES;
    const int64_t size = n / loop->shares, larger = n % loop->shares;
    int64_t at = 0;
    for (int i = 0; i < loop->shares; i++) {
        atomic_init(&loop->share[i].next, at);
        at += size + (i < larger);
        loop->share[i].end = at;
    }
}

static int claim(struct share *share, int64_t *begin, int64_t *end)
{
    int64_t at = atomic_load_explicit(&share->next, memory_order_relaxed);
    int64_t size;
    do {
        if (at == share->end) return 0;
        size = cvp_max_i64((share->end - at) / 2, 1);
    } while (!atomic_compare_exchange_weak_explicit(&share->next, &at, at + size,
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
    for (int i = 0; i < loop->shares; i++) {
        struct share *share = &loop->share[(lane + i) % loop->shares];
        int64_t begin, end;
        while (claim(share, &begin, &end)) loop->body(loop->arg, lane, begin, end);
    }
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
    struct loop loop; /* not all of it is written: it is large */
    loop.body = body;
    loop.arg = arg;
    cut(&loop, lanes, n);
    int ran = 1;
    loop.stage = cvp_stage_enter(CONVOP_STAGE_THREADS);
    if (c->parallel_for != NULL)
        c->parallel_for(c->parallel_for_user, lanes, run_host_lane, &loop);
    else
        ran = cvp_pool_run(c->pool, lanes, run_lane, &loop);
    cvp_stage_leave(loop.stage);
    if (!ran) body(arg, 0, 0, n);
}

int cvp_parallel_alone(int alone)
{
    int before = inside;
    inside = alone;
    return before;
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
