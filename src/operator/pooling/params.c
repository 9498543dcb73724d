/* Pooling's table of parameters and their check. */
#include <stddef.h>

#include "convop/convolution.h"
#include "src/common/status.h"
#include "src/operator/common.h"
#include "src/operator/convolution/params.h"
#include "src/operator/pooling/pooling.h"

static const convop_enum_value type_values[] = {
    {"max", POOL_MAX},
    {"avg", POOL_AVG},
    {"sum", POOL_SUM},
    {NULL, 0},
};

static const convop_enum_value convention_values[] = {
    {"valid", POOL_VALID},
    {"full", POOL_FULL},
    {NULL, 0},
};

/* A BOOL that may also be None. */
static const convop_enum_value include_values[] = {
    {"True", 1}, {"False", 0}, {"true", 1}, {"false", 0},
    {"1", 1},    {"0", 0},     {"None", 1}, {NULL, 0},
};

/* Sizes whose sums and products with one another stay far from the end of 64 bits. */
#define MAX_SIZE 1073741824.0
#define PLACE(field_kind, field_name, member)                                                      \
    .struct_size = sizeof(convop_field), .name = #field_name, .kind = CONVOP_FIELD_##field_kind,   \
    .offset = offsetof(struct pool_params, member)
#define FIELD(field_kind, member) PLACE(field_kind, member, member)

const convop_field cvp_pool_fields[] = {
    {FIELD(TUPLE, kernel), .min = 1, .max = MAX_SIZE, .default_text = "()",
     .doc = "Size of the window in each spatial axis; may be () with global_pool."},
    {PLACE(ENUM, pool_type, type), .values = type_values, .default_text = "max",
     .doc = "What is taken of a window: its maximum, average or sum."},
    {FIELD(BOOL, global_pool), .default_text = "False",
     .doc = "One window over the whole image; kernel, stride and pad play no part."},
    {FIELD(BOOL, cudnn_off), .default_text = "False", .doc = "Do not use cuDNN."},
    {PLACE(ENUM, pooling_convention, convention), .values = convention_values,
     .default_text = "valid",
     .doc = "The number of windows, where they do not fit, is rounded: valid down, full up."},
    {FIELD(TUPLE, stride), .min = 1, .max = MAX_SIZE, .default_text = "()",
     .doc = "Step of the window in each axis; () is 1."},
    {FIELD(TUPLE, pad), .min = 0, .max = MAX_SIZE, .default_text = "()",
     .doc = "Elements added at both sides of each axis, less than the kernel; () is 0. They are "
            "never a maximum."},
    {FIELD(ENUM, count_include_pad), .values = include_values, .default_text = "True",
     .doc = "Averages count the pads a window covers; None is True."},
    {FIELD(ENUM, layout), .values = cvp_conv_layout_values, .default_text = "None",
     .doc = "Layout of src and dst; None is NCW, NCHW or NCDHW by the kernel, else by the rank."},
};

_Static_assert(sizeof cvp_pool_fields / sizeof cvp_pool_fields[0] == POOL_NUM_FIELDS,
               "POOL_NUM_FIELDS");

static convop_status check_length(const char *name, const convop_tuple *t,
                                  const convop_tuple *kernel)
{
    if (t->len == 0 || t->len == kernel->len) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "Pooling: %s has %d entries, kernel has %d: they must be as many", name,
                       t->len, kernel->len);
}

convop_status cvp_pool_check(const void *params)
{
    const struct pool_params *p = params;
    int axes = p->layout == CONVOP_LAYOUT_DEFAULT ? 0 : (p->layout + 1) / 2;
    if (p->kernel.len > POOL_MAX_AXES || (p->kernel.len == 0 && !p->global_pool))
        return convop_fail(CONVOP_E_INVALID,
                           "Pooling: kernel has %d entries, allowed is 1 to %d (w; h, w; d, h, w), "
                           "or none with global_pool",
                           p->kernel.len, POOL_MAX_AXES);
    if (axes && p->kernel.len && axes != p->kernel.len)
        return convop_fail(CONVOP_E_INVALID,
                           "Pooling: layout=%s has %d spatial axes, kernel has %d entries",
                           cvp_conv_layout_name((convop_layout)p->layout), axes, p->kernel.len);
    if (p->global_pool) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(check_length("stride", &p->stride, &p->kernel));
    CVP_RETURN_IF_ERROR(check_length("pad", &p->pad, &p->kernel));
    for (int i = 0; i < p->pad.len; i++)
        if (p->pad.at[i] >= p->kernel.at[i])
            return convop_fail(CONVOP_E_INVALID,
                               "Pooling: pad[%d]=%lld, it must be less than kernel[%d]=%lld", i,
                               (long long)p->pad.at[i], i, (long long)p->kernel.at[i]);
    return CONVOP_OK;
}

int cvp_pool_is_channels_last(const struct pool_params *p)
{
    return p->layout != CONVOP_LAYOUT_DEFAULT && p->layout % 2 == 0;
}
