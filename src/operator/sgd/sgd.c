/* The operators sgd_update and sgd_mom_update: a step of stochastic gradient descent, element by
 * element. The new weight may be written over the old one. */
#include "src/operator/sgd/sgd.h"

#include <math.h>

#include "src/common/status.h"
#include "src/operator/common.h"

enum { WEIGHT, GRAD, MOM, MAX_INPUTS };

static const convop_arg inputs[] = {
    [WEIGHT] = {"weight", "The weights, of any shape."},
    [GRAD] = {"grad", "The gradient by weight."},
    [MOM] = {"mom", "The last step; becomes this one, also where dst is not asked for."},
};

static const convop_arg outputs[] = {
    {"dst", "The new weights."},
};

/* What lines get. */
struct sgd_job {
    const struct sgd_params *params;
    int add;
};

/* Contracted to fused multiply-adds, products and differences would round otherwise than MXNet's.
 */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* For loops whose output may lie on an input: element for element, so order does not matter. */
#ifdef __clang__
#define ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#else
#define ANY_ORDER _Pragma("GCC ivdep")
#endif

#define T          float
#define NAME(name) name##_f32
#include "src/operator/sgd/sgd_loops.h"
#undef T
#undef NAME
#define T          double
#define NAME(name) name##_f64
#include "src/operator/sgd/sgd_loops.h"
#undef T
#undef NAME

static convop_status infer(const char *op, int n_in, convop_shape *in, convop_shape *out)
{
    const convop_arg *args[MAX_INPUTS + 1];
    convop_shape *shapes[MAX_INPUTS + 1];
    for (int i = 0; i < n_in; i++) {
        args[i] = &inputs[i];
        shapes[i] = &in[i];
    }
    args[n_in] = outputs;
    shapes[n_in] = out;
    return cvp_shape_equal(op, n_in + 1, args, shapes);
}

static convop_status infer_sgd(const void *params, int n_in, convop_shape *in, int n_out,
                               convop_shape *out)
{
    (void)params, (void)n_out;
    return infer("sgd_update", n_in, in, out);
}

static convop_status infer_sgd_mom(const void *params, int n_in, convop_shape *in, int n_out,
                                   convop_shape *out)
{
    (void)params, (void)n_out;
    return infer("sgd_mom_update", n_in, in, out);
}

static convop_status plan_sgd(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan;
    *workspace_bytes = 0;
    return cvp_require_float("sgd_update", args->inputs[WEIGHT]->dtype);
}

static convop_status plan_sgd_mom(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan;
    *workspace_bytes = 0;
    return cvp_require_float("sgd_mom_update", args->inputs[WEIGHT]->dtype);
}

static convop_status run_sgd(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    const DLTensor *tensors[] = {args->outputs[0], args->inputs[WEIGHT], args->inputs[GRAD]};
    struct sgd_job job = {args->params, args->requests[0] == CONVOP_REQ_ADD};
    int wide = args->inputs[WEIGHT]->dtype.bits == 64;
    cvp_elementwise(args->context, 3, tensors, wide ? sgd_line_f64 : sgd_line_f32, &job);
    return CONVOP_OK;
}

static convop_status run_sgd_mom(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    struct sgd_job job = {args->params, args->requests[0] == CONVOP_REQ_ADD};
    int wide = args->inputs[WEIGHT]->dtype.bits == 64;
    if (args->requests[0] == CONVOP_REQ_NULL) {
        const DLTensor *tensors[] = {args->inputs[MOM], args->inputs[WEIGHT], args->inputs[GRAD]};
        cvp_elementwise(args->context, 3, tensors, wide ? momentum_line_f64 : momentum_line_f32,
                        &job);
        return CONVOP_OK;
    }
    const DLTensor *tensors[] = {args->outputs[0], args->inputs[WEIGHT], args->inputs[GRAD],
                                 args->inputs[MOM]};
    cvp_elementwise(args->context, 4, tensors, wide ? sgd_mom_line_f64 : sgd_mom_line_f32, &job);
    return CONVOP_OK;
}

static const convop_inplace inplace[] = {{WEIGHT, 0}};

CONVOP_OP(sgd_update) = {
    .struct_size = sizeof(convop_op),
    .name = "sgd_update",
    .doc = "dst = (1 - lr wd) weight - lr cut(rescale_grad grad), where cut limits to "
           "clip_gradient.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct sgd_params),
    .fields = cvp_sgd_fields,
    .num_fields = SGD_NUM_FIELDS - 1,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = MOM,
    .max_outputs = 1,
    .infer_shape = infer_sgd,
    .plan = plan_sgd,
    .run = run_sgd,
    .inplace = inplace,
    .num_inplace = 1,
};

CONVOP_OP(sgd_mom_update) = {
    .struct_size = sizeof(convop_op),
    .name = "sgd_mom_update",
    .doc = "mom = momentum mom - lr wd weight - lr cut(rescale_grad grad); dst = weight + mom.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct sgd_params),
    .fields = cvp_sgd_fields,
    .num_fields = SGD_NUM_FIELDS,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = MAX_INPUTS,
    .max_outputs = 1,
    .infer_shape = infer_sgd_mom,
    .plan = plan_sgd_mom,
    .run = run_sgd_mom,
    .mutated_inputs = 1u << MOM,
    .inplace = inplace,
    .num_inplace = 1,
};
