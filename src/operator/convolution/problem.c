/* The canonical problem, built from parameters and tensors. */
#include "src/operator/convolution/problem.h"

#include "src/common/settings.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/engine/context.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/params.h"
#include "src/operator/device.h"

static convop_conv_strides dense_strides(int64_t c, int64_t d, int64_t h, int64_t w,
                                         int channels_last)
{
    if (channels_last)
        return (convop_conv_strides){
            .n = d * h * w * c, .d = h * w * c, .h = w * c, .w = c, .c = 1};
    return (convop_conv_strides){.n = c * d * h * w, .c = d * h * w, .d = h * w, .h = w, .w = 1};
}

static convop_conv_strides strides_of(const DLTensor *t, const convop_conv_problem *p)
{
    int64_t s[CONVOP_MAX_DIMS];
    cvp_tensor_strides(t, s);
    const int64_t *spatial = s + (p->channels_last ? 1 : 2);
    convop_conv_strides r = {.n = s[0], .c = p->channels_last ? s[t->ndim - 1] : s[1]};
    r.w = spatial[p->axes - 1];
    if (p->axes > 1) r.h = spatial[p->axes - 2];
    if (p->axes > 2) r.d = spatial[0];
    return r;
}

static int is_supported(DLDataType t)
{
    return (t.code == kDLFloat && (t.bits == 16 || t.bits == 32 || t.bits == 64)) ||
           (t.code == kDLBfloat && t.bits == 16);
}

static int is_compact(const DLTensor *t)
{
    return !t || cvp_tensor_is_compact(t);
}

void cvp_conv_problem_make_dense(convop_conv_problem *p)
{
    p->src = dense_strides(p->ic, p->id, p->ih, p->iw, p->channels_last);
    p->dst = dense_strides(p->oc, p->od, p->oh, p->ow, p->channels_last);
    p->weights = dense_strides(p->ic / p->g, p->kd, p->kh, p->kw, p->channels_last);
    p->residual_strides = p->dst;
    p->dense = 1;
}

/* Writes the last `axes` of three, the rest gets `fill`. */
static void set_axes(int64_t *d, int64_t *h, int64_t *w, const int64_t *at, int axes, int64_t fill)
{
    *w = at[axes - 1];
    *h = axes > 1 ? at[axes - 2] : fill;
    *d = axes > 2 ? at[0] : fill;
}

static convop_status set_environment(convop_conv_problem *p, const convop_conv_params *params,
                                     const convop_context *context, size_t workspace_limit)
{
    p->workspace_limit =
        workspace_limit < CONV_WORKSPACE_MAX ? workspace_limit : CONV_WORKSPACE_MAX;
    p->depthwise_conv_off = params->depthwise_conv_off;
    p->cudnn_off = params->cudnn_off;
    p->threads = cvp_lanes(context);
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_DETERMINISTIC, &p->deterministic));
    int math = (int)context->math;
    if (math == CONVOP_MATH_UNSET) CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_MATH, &math));
    p->math = (convop_math)math;
    enum cvp_isa isa = CVP_ISA_BASELINE;
    CVP_RETURN_IF_ERROR(cvp_isa_in_use(&isa));
    p->isa = (int)isa;
    return CONVOP_OK;
}

/* All tensors are on one device. */
static void set_device(convop_conv_problem *p, const struct conv_tensors *t)
{
    const DLTensor *one = t->dst ? t->dst : t->src;
    const char *why;
    p->device_type = kDLCPU;
    if (!one || !cvp_is_on_gpu(one)) return;
    p->device_type = kDLCUDA;
    p->device_id = one->device.device_id;
    p->gpu = cvp_gpu_get(p->device_id, &why);
}

convop_status cvp_conv_problem_init(convop_conv_problem *p, const convop_conv_params *params,
                                    convop_conv_direction dir, DLDataType dtype,
                                    const convop_shape *src_shape, const convop_shape *dst_shape,
                                    const struct conv_tensors *tensors,
                                    const convop_context *context, size_t workspace_limit)
{
    char name[16];
    if (!is_supported(dtype))
        return convop_fail(
            CONVOP_E_UNSUPPORTED,
            "Convolution: no implementation for dtype %s; float32, float64, float16 and "
            "bfloat16 have one",
            cvp_dtype_name(dtype, name));

    struct conv_resolved r = cvp_conv_params_resolve(params);
    int axes = params->kernel.len;
    int spatial = r.channels_last ? 1 : 2, channels = r.channels_last ? axes + 1 : 1;
    *p = (convop_conv_problem){
        .struct_size = sizeof *p,
        .direction = dir,
        .dtype = dtype,
        .axes = axes,
        .channels_last = r.channels_last,
        .bias = dir == CONVOP_FWD && !params->no_bias,
        .activation = dir == CONVOP_FWD ? params->activation : CONVOP_ACTIVATION_NONE,
        .residual = dir == CONVOP_FWD && tensors->residual,
        .mb = src_shape->dim[0],
        .g = params->num_group,
        .ic = src_shape->dim[channels],
        .oc = params->num_filter,
    };
    set_axes(&p->id, &p->ih, &p->iw, src_shape->dim + spatial, axes, 1);
    set_axes(&p->od, &p->oh, &p->ow, dst_shape->dim + spatial, axes, 1);
    set_axes(&p->kd, &p->kh, &p->kw, params->kernel.at, axes, 1);
    set_axes(&p->sd, &p->sh, &p->sw, r.stride, axes, 1);
    set_axes(&p->dd, &p->dh, &p->dw, r.dilate, axes, 1);
    set_axes(&p->pd, &p->ph, &p->pw, r.pad_begin, axes, 0);

    cvp_conv_problem_make_dense(p);
    const struct conv_tensors *t = tensors;
    if (t->src) p->src = strides_of(t->src, p);
    if (t->dst) p->dst = strides_of(t->dst, p);
    if (t->weights) p->weights = strides_of(t->weights, p);
    if (t->residual) p->residual_strides = strides_of(t->residual, p);
    p->dense = is_compact(t->src) && is_compact(t->dst) && is_compact(t->weights) &&
               is_compact(t->residual);
    set_device(p, t);
    p->bias_stride = 1;
    if (t->bias) cvp_tensor_strides(t->bias, &p->bias_stride);
    return set_environment(p, params, context, workspace_limit);
}
