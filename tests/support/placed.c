/* Convolutions at chosen addresses. */
#include "tests/support/placed.h"

#include <string.h>

#define BOX_MARGIN 64 /* in front of every box */

struct box *placed_box(struct conv_case *c, int which)
{
    struct box *all[PLACED] = {&c->src,      &c->weights,  &c->bias,         &c->dst,
                               &c->diff_dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    return all[which];
}

void *placed_elements(struct conv_case *c, int which)
{
    const struct box *b = placed_box(c, which);
    return b->memory + BOX_MARGIN + b->tensor.byte_offset;
}

size_t placed_bytes(struct conv_case *c, int which)
{
    const struct box *b = placed_box(c, which);
    int64_t last = 0;
    for (int d = 0; d < b->tensor.ndim; d++) {
        if (b->shape[d] == 0) return 0;
        last += (b->shape[d] - 1) * b->strides[d];
    }
    return (size_t)(last + 1) * (b->tensor.dtype.bits / 8);
}

void placed_put(struct placed *p, int which, void *memory)
{
    p->at[which] = placed_box(p->c, which)->tensor;
    p->at[which].data = memory;
    p->at[which].byte_offset = 0;
    memcpy(memory, placed_elements(p->c, which), placed_bytes(p->c, which));
}

void placed_take_back(struct placed *p)
{
    for (int i = 0; i < PLACED; i++) {
        if (i != P_DST && i < P_DIFF_SRC) continue;
        memcpy(placed_elements(p->c, i), p->at[i].data, placed_bytes(p->c, i));
    }
}

convop_status placed_forward(struct placed *p, const convop_exec *exec)
{
    return conv_forward(&p->c->params, &p->at[P_SRC], &p->at[P_WEIGHTS],
                        p->c->params.no_bias ? NULL : &p->at[P_BIAS],
                        p->c->request == CONVOP_REQ_NULL ? NULL : &p->at[P_DST], p->c->request,
                        exec);
}

static DLTensor *asked(struct placed *p, int gradient)
{
    if (p->c->requests[gradient] == CONVOP_REQ_NULL) return NULL;
    return gradient == 2 && p->c->params.no_bias ? NULL : &p->at[P_DIFF_SRC + gradient];
}

convop_status placed_backward(struct placed *p, const convop_exec *exec)
{
    return conv_backward(&p->c->params, &p->at[P_DIFF_DST], &p->at[P_SRC], &p->at[P_WEIGHTS],
                         asked(p, 0), asked(p, 1), asked(p, 2), p->c->requests, exec);
}

int placed_is_asked(const struct conv_case *c, int output)
{
    if (output == 0) return c->request != CONVOP_REQ_NULL;
    if (output == 3 && c->params.no_bias) return 0;
    return c->requests[output - 1] != CONVOP_REQ_NULL;
}

int placed_output(convop_conv_direction direction)
{
    return (int)direction; /* both count dst, diff_src, diff_weights, diff_bias */
}

int placed_which(convop_conv_direction direction)
{
    return direction == CONVOP_FWD ? P_DST : P_DIFF_SRC + (int)direction - 1;
}
