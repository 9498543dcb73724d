/* A convolution, all of whose parts may be changed, and whether a call takes an earlier one's plan.
 */
#ifndef CVP_TEST_MEMO_CALL_H
#define CVP_TEST_MEMO_CALL_H

#include <string.h>

#include "convop/convop.h"
#include "src/operator/memo.h"
#include "tests/support/expect.h"

enum { SRC, WEIGHTS, BIAS, DST, NUM_TENSORS };

#define ROOM 8192 /* bytes of each tensor, gaps of a test included */

struct call {
    convop_conv_params params;
    DLTensor t[NUM_TENSORS];
    int64_t shape[NUM_TENSORS][4], strides[NUM_TENSORS][4];
    int has_strides[NUM_TENSORS];
    convop_request request;
    convop_exec exec;
};

static _Alignas(64) char memory[NUM_TENSORS][ROOM];

static inline void set_shape(struct call *c, int tensor, int64_t a, int64_t b, int64_t h, int64_t w)
{
    const int64_t shape[4] = {a, b, h, w};
    memcpy(c->shape[tensor], shape, sizeof shape);
}

static inline void set_strides(struct call *c, int tensor, int64_t a, int64_t b, int64_t h,
                               int64_t w)
{
    const int64_t strides[4] = {a, b, h, w};
    memcpy(c->strides[tensor], strides, sizeof strides);
    c->has_strides[tensor] = 1;
}

static inline void begin(struct call *c)
{
    const convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    const convop_exec exec = CONVOP_EXEC_INIT;
    memset(c, 0, sizeof *c);
    c->params = params;
    c->exec = exec;
    c->request = CONVOP_REQ_WRITE;
    c->params.kernel = convop_tuple2(3, 3);
    c->params.num_filter = 4;
    c->params.no_bias = 1;
    set_shape(c, SRC, 2, 4, 6, 6);
    set_shape(c, WEIGHTS, 4, 4, 3, 3);
    set_shape(c, BIAS, 4, 0, 0, 0);
    set_shape(c, DST, 2, 4, 4, 4);
    for (int i = 0; i < NUM_TENSORS; i++)
        c->t[i] = (DLTensor){.data = memory[i],
                             .device = {kDLCPU, 0},
                             .ndim = i == BIAS ? 1 : 4,
                             .dtype = {kDLFloat, 32, 1}};
}

static inline convop_status run(struct call *c)
{
    for (int i = 0; i < NUM_TENSORS; i++) {
        c->t[i].shape = c->shape[i];
        c->t[i].strides = c->has_strides[i] ? c->strides[i] : NULL;
    }
    return conv_forward(&c->params, &c->t[SRC], &c->t[WEIGHTS],
                        c->params.no_bias ? NULL : &c->t[BIAS], &c->t[DST], c->request, &c->exec);
}

/* 1: the call took a plan that was there; 0: it made one that is kept. */
static inline int hits(convop_status (*call)(void *), void *arg)
{
    struct cvp_memo_counts before = cvp_memo_counts();
    expect_ok(call(arg));
    struct cvp_memo_counts after = cvp_memo_counts();
    int hit = after.hits != before.hits;
    assert_int_equal(after.hits - before.hits + after.kept - before.kept, 1);
    return hit;
}

static inline convop_status run_any(void *call)
{
    return run(call);
}

static inline int is_hit(struct call *c)
{
    return hits(run_any, c);
}

#endif
