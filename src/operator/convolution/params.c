/* Convolution's parameters, those of MXNet's operator of the same name: names, text forms and
 * defaults are its own; depthwise_conv_off and padding at each side are new. */
#include "src/operator/convolution/params.h"

#include <stddef.h>

#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/text.h"

static const convop_enum_value tune_values[] = {
    {"None", CONVOP_TUNE_DEFAULT},
    {"off", CONVOP_TUNE_OFF},
    {"limited_workspace", CONVOP_TUNE_LIMITED_WORKSPACE},
    {"fastest", CONVOP_TUNE_FASTEST},
    {NULL, 0},
};

const convop_enum_value cvp_conv_layout_values[] = {
    {"None", CONVOP_LAYOUT_DEFAULT}, {"NCW", CONVOP_LAYOUT_NCW},
    {"NWC", CONVOP_LAYOUT_NWC},      {"NCHW", CONVOP_LAYOUT_NCHW},
    {"NHWC", CONVOP_LAYOUT_NHWC},    {"NCDHW", CONVOP_LAYOUT_NCDHW},
    {"NDHWC", CONVOP_LAYOUT_NDHWC},  {NULL, 0},
};

static const convop_enum_value activation_values[] = {
    {"none", CONVOP_ACTIVATION_NONE},
    {"relu", CONVOP_ACTIVATION_RELU},
    {"relu6", CONVOP_ACTIVATION_RELU6},
    {NULL, 0},
};

#define MAX_SIZE 9223372036854775807.0
#define FIELD(field_kind, member)                                                                  \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_##field_kind,       \
    .offset = offsetof(convop_conv_params, member)

const convop_field cvp_conv_fields[] = {
    {FIELD(TUPLE, kernel), .min = 1, .max = MAX_SIZE,
     .doc = "Size of the window in each spatial axis: (w), (h, w) or (d, h, w)."},
    {FIELD(TUPLE, stride), .min = 1, .max = MAX_SIZE, .default_text = "()",
     .doc = "Step of the window in each axis; () is 1."},
    {FIELD(TUPLE, dilate), .min = 1, .max = MAX_SIZE, .default_text = "()",
     .doc = "Distance of the window's elements in each axis, 1 is dense; () is 1."},
    {.struct_size = sizeof(convop_field),
     .name = "pad",
     .kind = CONVOP_FIELD_TUPLE,
     .offset = offsetof(convop_conv_params, pad_begin),
     .twin_offset = offsetof(convop_conv_params, pad_end),
     .min = 0,
     .max = MAX_SIZE,
     .default_text = "()",
     .doc = "Zeros added at both sides of each axis; () is 0."},
    {FIELD(INT, num_filter), .min = 1, .max = MAX_SIZE, .doc = "Number of output channels."},
    {FIELD(INT, num_group), .min = 1, .max = MAX_SIZE, .default_text = "1",
     .doc = "Groups of channels; divides the input's channels and num_filter."},
    {.struct_size = sizeof(convop_field),
     .name = "workspace",
     .kind = CONVOP_FIELD_BYTES,
     .offset = offsetof(convop_conv_params, workspace_bytes),
     .min = 0,
     .max = 17592186044415.0,
     .default_text = "1024",
     .doc = "Scratch memory that a call may use at most, in MiB."},
    {FIELD(BOOL, no_bias), .default_text = "False", .doc = "Leave out the bias."},
    {FIELD(ENUM, cudnn_tune), .values = tune_values, .default_text = "None",
     .doc = "Measure which implementation is fastest: off, limited_workspace (those within "
            "workspace), fastest (all); None is as the process is set."},
    {FIELD(BOOL, cudnn_off), .default_text = "False", .doc = "Do not use cuDNN."},
    {FIELD(BOOL, depthwise_conv_off), .default_text = "False",
     .doc = "Do not use the implementations for depthwise convolutions."},
    {FIELD(ENUM, layout), .values = cvp_conv_layout_values, .default_text = "None",
     .doc = "Layout of data, weight and output; None is NCW, NCHW or NCDHW by the kernel."},
    {FIELD(ENUM, activation), .values = activation_values, .default_text = "none",
     .doc = "What follows the sum: none, relu: max(x, 0), relu6: min(max(x, 0), 6)."},
};

_Static_assert(sizeof cvp_conv_fields / sizeof cvp_conv_fields[0] == CONV_NUM_FUSED_FIELDS,
               "CONV_NUM_FUSED_FIELDS");

static const char *name_of(const convop_enum_value *v, int value)
{
    for (; v->name; v++)
        if (v->value == value) return v->name;
    return "unknown";
}

const char *cvp_conv_layout_name(convop_layout layout)
{
    return name_of(cvp_conv_layout_values, (int)layout);
}

const char *cvp_conv_activation_name(int activation)
{
    return name_of(activation_values, activation);
}

static convop_status check_length(const char *name, const convop_tuple *t,
                                  const convop_tuple *kernel)
{
    if (t->len == 0 || t->len == kernel->len) return CONVOP_OK;
    char a[128], b[128];
    struct cvp_text text = cvp_text_in(a, sizeof a);
    cvp_text_add_dims(&text, t->len, t->at);
    text = cvp_text_in(b, sizeof b);
    cvp_text_add_dims(&text, kernel->len, kernel->at);
    return convop_fail(CONVOP_E_INVALID,
                       "Convolution: %s=%s has %d entries, kernel=%s has %d: they must be as many",
                       name, a, t->len, b, kernel->len);
}

static convop_status check_reach(const convop_conv_params *p)
{
    int64_t taps = 1;
    for (int i = 0; i < p->kernel.len; i++) {
        int64_t reach, dilate = p->dilate.len ? p->dilate.at[i] : 1;
        if (!cvp_mul_i64(dilate, p->kernel.at[i] - 1, &reach) || !cvp_add_i64(reach, 1, &reach))
            return convop_fail(
                CONVOP_E_INVALID,
                "Convolution: dilate[%d]=%lld times kernel[%d]=%lld overflows 64 bits", i,
                (long long)dilate, i, (long long)p->kernel.at[i]);
        if (!cvp_mul_i64(taps, p->kernel.at[i], &taps))
            return convop_fail(CONVOP_E_INVALID,
                               "Convolution: the size of kernel overflows 64 bits");
    }
    return CONVOP_OK;
}

/* Spatial axes of a layout; 0 for the default. */
static int layout_axes(int layout)
{
    return layout == CONVOP_LAYOUT_DEFAULT ? 0 : (layout + 1) / 2;
}

convop_status cvp_conv_params_check(const void *params)
{
    const convop_conv_params *p = params;
    if (p->kernel.len < 1 || p->kernel.len > CONV_MAX_AXES)
        return convop_fail(
            CONVOP_E_INVALID,
            "Convolution: kernel has %d entries, allowed is 1 to %d (w; h, w; d, h, w)",
            p->kernel.len, CONV_MAX_AXES);
    CVP_RETURN_IF_ERROR(check_length("stride", &p->stride, &p->kernel));
    CVP_RETURN_IF_ERROR(check_length("dilate", &p->dilate, &p->kernel));
    CVP_RETURN_IF_ERROR(check_length("pad", &p->pad_begin, &p->kernel));
    CVP_RETURN_IF_ERROR(check_length("pad (at the end)", &p->pad_end, &p->kernel));
    CVP_RETURN_IF_ERROR(check_reach(p));
    if (p->num_filter % p->num_group != 0)
        return convop_fail(CONVOP_E_INVALID,
                           "Convolution: num_filter=%lld output channels are not a multiple of "
                           "num_group=%lld",
                           (long long)p->num_filter, (long long)p->num_group);
    int axes = layout_axes(p->layout);
    if (axes && axes != p->kernel.len)
        return convop_fail(CONVOP_E_INVALID,
                           "Convolution: layout=%s has %d spatial axes, kernel has %d entries",
                           cvp_conv_layout_name((convop_layout)p->layout), axes, p->kernel.len);
    return CONVOP_OK;
}

convop_status cvp_conv_params_check_plain(const void *params)
{
    const convop_conv_params *p = params;
    if (p->activation != CONVOP_ACTIVATION_NONE)
        return convop_fail(CONVOP_E_INVALID,
                           "Convolution: activation is %s (%d): FusedConvolution computes one, "
                           "forward only",
                           cvp_conv_activation_name(p->activation), p->activation);
    return cvp_conv_params_check(params);
}

struct conv_resolved cvp_conv_params_resolve(const convop_conv_params *p)
{
    static const convop_layout by_axes[] = {CONVOP_LAYOUT_NCW, CONVOP_LAYOUT_NCHW,
                                            CONVOP_LAYOUT_NCDHW};
    struct conv_resolved r;
    for (int i = 0; i < CONV_MAX_AXES; i++) {
        r.stride[i] = i < p->stride.len ? p->stride.at[i] : 1;
        r.dilate[i] = i < p->dilate.len ? p->dilate.at[i] : 1;
        r.pad_begin[i] = i < p->pad_begin.len ? p->pad_begin.at[i] : 0;
        r.pad_end[i] = i < p->pad_end.len ? p->pad_end.at[i] : 0;
    }
    r.layout = p->layout ? (convop_layout)p->layout : by_axes[p->kernel.len - 1];
    r.channels_last = r.layout % 2 == 0;
    return r;
}
