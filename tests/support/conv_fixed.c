/* Convolutions of chosen sizes for tests. */
#include "tests/support/conv_fixed.h"

#include <string.h>

void conv_case_fixed(struct conv_case *c, const struct conv_size *size, int bias, uint64_t seed)
{
    static const int layouts[2][3] = {{CONVOP_LAYOUT_NCW, CONVOP_LAYOUT_NCHW, CONVOP_LAYOUT_NCDHW},
                                      {CONVOP_LAYOUT_NWC, CONVOP_LAYOUT_NHWC, CONVOP_LAYOUT_NDHWC}};
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    struct rng r = {seed};
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->axes = size->axes;
    c->channels_last = size->channels_last;
    c->bits = size->type;
    c->integers = 1;
    c->mb = size->mb;
    c->ic = size->ic;
    c->oc = size->oc;
    c->g = size->g;
    c->params = defaults;
    convop_conv_params *p = &c->params;
    p->kernel.len = p->stride.len = p->dilate.len = p->pad_begin.len = p->pad_end.len = c->axes;
    for (int a = 0; a < 3; a++) {
        int axis = a - (3 - c->axes);
        c->i[a] = c->k[a] = c->s[a] = c->d[a] = 1;
        if (axis < 0) continue;
        c->i[a] = size->i;
        c->k[a] = p->kernel.at[axis] = size->k;
        c->s[a] = p->stride.at[axis] = size->s > 0 ? size->s : 1;
        c->d[a] = p->dilate.at[axis] = size->d > 0 ? size->d : 1;
        c->p0[a] = c->p1[a] = p->pad_begin.at[axis] = p->pad_end.at[axis] = size->p;
    }
    p->num_filter = c->oc;
    p->num_group = c->g;
    p->no_bias = !bias;
    p->layout = layouts[c->channels_last][c->axes - 1];
    c->request = c->requests[0] = c->requests[1] = c->requests[2] = CONVOP_REQ_WRITE;
    conv_case_create_tensors(c, &r, 0);
}

struct conv_size conv_grid_depthwise(int i)
{
    static const int64_t channels[] = {1, 4, 16, 32, 64};
    const int k = i / 5, n = i % 5;
    return (struct conv_size){.axes = 1 + (k & 1),
                              .channels_last = (k + n) % 2,
                              .type = BOX_F32,
                              .mb = 2,
                              .ic = channels[n],
                              .oc = channels[n],
                              .g = channels[n],
                              .k = k & 2 ? 5 : 3,
                              .s = k & 4 ? 2 : 1,
                              .p = k & 8 ? 1 : 0,
                              .i = k & 16 ? 32 : 7};
}

convop_status conv_case_forward(struct conv_case *c, const convop_exec *exec)
{
    return conv_forward(&c->params, &c->src.tensor, &c->weights.tensor,
                        c->params.no_bias ? NULL : &c->bias.tensor,
                        c->request == CONVOP_REQ_NULL ? NULL : &c->dst.tensor, c->request, exec);
}

static DLTensor *asked(struct conv_case *c, int gradient)
{
    struct box *boxes[] = {&c->diff_src, &c->diff_weights, &c->diff_bias};
    if (c->requests[gradient] == CONVOP_REQ_NULL) return NULL;
    return gradient == 2 && c->params.no_bias ? NULL : &boxes[gradient]->tensor;
}

convop_status conv_case_backward(struct conv_case *c, const convop_exec *exec)
{
    return conv_backward(&c->params, &c->diff_dst.tensor, &c->src.tensor, &c->weights.tensor,
                         asked(c, 0), asked(c, 1), asked(c, 2), c->requests, exec);
}

int conv_rows(const convop_conv_params *params, convop_conv_direction direction,
              const DLTensor *src, const DLTensor *weights, const DLTensor *dst,
              convop_conv_row rows[CONV_CASE_MAX_ROWS])
{
    size_t count = CONV_CASE_MAX_ROWS;
    int n = 0;
    if (convop_conv_explain(params, direction, src, weights, dst, NULL, rows, &count) != CONVOP_OK)
        return -1;
    for (size_t i = 0; i < count && i < CONV_CASE_MAX_ROWS; i++)
        if (rows[i].applicable) rows[n++] = rows[i];
    return n;
}

int conv_case_rows(struct conv_case *c, convop_conv_direction direction,
                   convop_conv_row rows[CONV_CASE_MAX_ROWS])
{
    const int n = conv_rows(
        &c->params, direction, direction == CONVOP_BWD_D ? &c->diff_src.tensor : &c->src.tensor,
        direction == CONVOP_BWD_W ? &c->diff_weights.tensor : &c->weights.tensor,
        direction == CONVOP_FWD ? &c->dst.tensor : &c->diff_dst.tensor, rows);
    return n < 0 ? 0 : n;
}
