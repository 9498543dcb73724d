/* What Pooling and its gradient share: parameters, those of MXNet's operator of the same name, and
 * the problem that the loops see. */
#ifndef CVP_POOLING_H
#define CVP_POOLING_H

#include "convop/registry.h"
#include "src/common/size.h"

#define POOL_MAX_AXES 3

enum pool_type { POOL_MAX = 0, POOL_AVG = 1, POOL_SUM = 2 };

/* How the number of windows is rounded where they do not fit: valid down, full up. */
enum pool_convention { POOL_VALID = 0, POOL_FULL = 1 };

struct pool_params {
    size_t struct_size;
    convop_tuple kernel;
    int type; /* pool_type */
    int global_pool, cudnn_off;
    int convention; /* pool_convention */
    convop_tuple stride, pad;
    int count_include_pad;
    int layout; /* convop_layout */
};

extern const convop_field cvp_pool_fields[];
#define POOL_NUM_FIELDS 9

convop_status cvp_pool_check(const void *params);

/* 1 if channels are the last axis. */
int cvp_pool_is_channels_last(const struct pool_params *p);

/* Shapes of src and dst from each other: src's sizes where they follow (stride 1, no global_pool).
 */
convop_status cvp_pool_infer(const char *op, const struct pool_params *p, convop_shape *src,
                             const char *dst_name, convop_shape *dst);

/* One spatial axis. */
struct pool_axis {
    int64_t in, out, kernel, stride, pad;
};

struct pool_strides {
    int64_t n, c, at[POOL_MAX_AXES];
};

/* Sizes with an axis for depth, height and width each; those that are not there have size 1. */
struct pool_problem {
    enum pool_type type;
    int count_include_pad;
    int64_t mb, c;
    struct pool_axis axis[POOL_MAX_AXES];
    struct pool_strides src, dst;
};

/* Tensors of src's and dst's shape; shapes satisfy inference. */
void cvp_pool_problem_init(struct pool_problem *problem, const struct pool_params *p,
                           const DLTensor *src, const DLTensor *dst);
/* The strides of a tensor of src's or dst's shape. */
struct pool_strides cvp_pool_strides(const struct pool_params *p, const DLTensor *t);

/* The elements [*begin, *end) of the axis that window o covers, from the window's own [0, kernel)
 * on: element y of the window is o * stride - pad + y of src. May be empty with POOL_FULL. */
static inline void cvp_pool_window(const struct pool_axis *a, int64_t o, int64_t *begin,
                                   int64_t *end)
{
    int64_t first = o * a->stride - a->pad;
    *begin = cvp_max_i64(0, -first);
    *end = cvp_min_i64(a->kernel, a->in - first);
    if (*end < *begin) *end = *begin;
}

/* What window o counts for in an average: as far as it covers the axis, with or without pads. */
static inline int64_t cvp_pool_count(const struct pool_axis *a, int64_t o, int with_pad)
{
    int64_t first = o * a->stride - a->pad;
    int64_t begin = with_pad ? first : cvp_max_i64(first, 0);
    return cvp_min_i64(first + a->kernel, a->in + (with_pad ? a->pad : 0)) - begin;
}

/* The windows [*begin, *end) whose element y lies inside the axis. */
static inline void cvp_pool_reach(const struct pool_axis *a, int64_t y, int64_t *begin,
                                  int64_t *end)
{
    int64_t before = a->pad - y, last = a->in - 1 + before;
    *begin = before > 0 ? cvp_ceil_div(before, a->stride) : 0;
    *end = last < 0 ? 0 : cvp_min_i64(a->out, last / a->stride + 1);
    if (*end < *begin) *end = *begin;
}

#endif
