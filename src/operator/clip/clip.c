/* The operator clip and its gradient: each element between two bounds. Names are MXNet's. NaN stays
 * NaN; where an element was at a bound or between them its gradient passes. */
#include "src/operator/clip/clip.h"

#include "src/common/status.h"
#include "src/operator/common.h"

static const convop_arg data[] = {{"src", "Any shape."}};
static const convop_arg result[] = {{"dst", "Of src's shape."}};
static const convop_arg gradient_data[] = {{"diff_dst", "The gradient by dst."},
                                           {"src", "As given to clip."}};
static const convop_arg gradient_result[] = {{"diff_src", "The gradient by src."}};

#define FIELD(member)                                                                              \
    .struct_size = sizeof(convop_field), .name = #member, .kind = CONVOP_FIELD_FLOAT,              \
    .offset = offsetof(struct clip_params, member), .min = -1.7976931348623157e308,                \
    .max = 1.7976931348623157e308

static const convop_field fields[] = {
    {FIELD(a_min), .doc = "What is less becomes this."},
    {FIELD(a_max), .doc = "What is more becomes this."},
};

static convop_status check(const void *params)
{
    const struct clip_params *p = params;
    if (p->a_min <= p->a_max) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "clip: a_min=%g is above a_max=%g", p->a_min, p->a_max);
}

/* What a line needs to know. */
struct clipping {
    double low, high;
    convop_request request;
};

#define DEFINE(T, forward, backward)                                                               \
    static void forward(void *arg, int64_t n, void *const *at, const int64_t *step)                \
    {                                                                                              \
        const struct clipping *c = arg;                                                            \
        const T low = (T)c->low, high = (T)c->high;                                                \
        T *y = at[0];                                                                              \
        const T *x = at[1];                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T v = x[i * step[1]], r = v < low ? low : v > high ? high : v;                   \
            y[i * step[0]] = c->request == CONVOP_REQ_ADD ? y[i * step[0]] + r : r;                \
        }                                                                                          \
    }                                                                                              \
    static void backward(void *arg, int64_t n, void *const *at, const int64_t *step)               \
    {                                                                                              \
        const struct clipping *c = arg;                                                            \
        const T low = (T)c->low, high = (T)c->high;                                                \
        T *dx = at[0];                                                                             \
        const T *dy = at[1], *x = at[2];                                                           \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T v = x[i * step[2]], r = v < low || v > high ? 0 : dy[i * step[1]];             \
            dx[i * step[0]] = c->request == CONVOP_REQ_ADD ? dx[i * step[0]] + r : r;              \
        }                                                                                          \
    }

DEFINE(float, clip_f32, clip_back_f32)
DEFINE(double, clip_f64, clip_back_f64)

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal("clip", 2, (const convop_arg *const[]){data, result},
                           (convop_shape *const[]){in, out});
}

static convop_status infer_gradient(const void *params, int num_inputs, convop_shape *in,
                                    int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal(
        "_backward_clip", 3,
        (const convop_arg *const[]){gradient_data, gradient_data + 1, gradient_result},
        (convop_shape *const[]){in, in + 1, out});
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float(args->num_inputs > 1 ? "_backward_clip" : "clip",
                             args->inputs[0]->dtype);
}

/* Forward and backward: the output, then the inputs. */
static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const struct clip_params *p = args->params;
    struct clipping c = {p->a_min, p->a_max, args->requests[0]};
    if (c.request == CONVOP_REQ_NULL) return CONVOP_OK;
    const int is_backward = args->num_inputs > 1, is_double = args->outputs[0]->dtype.bits == 64;
    static cvp_line_body *const bodies[2][2] = {{clip_f32, clip_f64},
                                                {clip_back_f32, clip_back_f64}};
    const DLTensor *tensors[] = {args->outputs[0], args->inputs[0],
                                 is_backward ? args->inputs[1] : NULL};
    cvp_elementwise(args->context, 1 + args->num_inputs, tensors, bodies[is_backward][is_double],
                    &c);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {{CONVOP_GRADIENT_BY_OUTPUT, 0},
                                                        {CONVOP_GRADIENT_INPUT, 0}};
static const int gradient_of[] = {0};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_clip", gradient_inputs, 2, gradient_of, 1};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};
static const convop_inplace inplace[] = {{0, 0}};

#define CLIP                                                                                       \
    .struct_size = sizeof(convop_op), .level = CONVOP_LEVEL_BUILTIN,                               \
    .params_size = sizeof(struct clip_params), .fields = fields, .num_fields = 2, .check = check,  \
    .max_outputs = 1, .plan = plan, .run = run, .inplace = inplace, .num_inplace = 1

CONVOP_OP(clip) = {
    CLIP,
    .name = "clip",
    .doc = "min(max(src, a_min), a_max), element by element. NaN gives NaN. float32 and float64.",
    .inputs = data,
    .outputs = result,
    .max_inputs = 1,
    .infer_shape = infer_shape,
    .attrs = attrs,
    .num_attrs = 1,
};

CONVOP_OP(_backward_clip) = {
    CLIP,
    .name = "_backward_clip",
    .doc = "The gradient of clip: 0 where an element was cut.",
    .inputs = gradient_data,
    .outputs = gradient_result,
    .max_inputs = 2,
    .infer_shape = infer_gradient,
};
