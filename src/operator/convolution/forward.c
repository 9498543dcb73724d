/* The forward operators: they decide and check; the rows compute. */
#include "src/operator/convolution/forward.h"

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/call.h"
#include "src/operator/convolution/infer.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/plan.h"
#include "src/operator/copy.h"
#include "src/operator/device.h"

enum { SRC, RESIDUAL };

/* Behind the residual, if there is one. */
static int weights_place(int has_residual)
{
    return 1 + has_residual;
}

static int bias_place(int has_residual)
{
    return 2 + has_residual;
}

const struct conv_names cvp_conv_forward_names = {"Convolution", "src", "weights", "bias",
                                                  "dst (output)"};

convop_shape cvp_conv_shape_of(const DLTensor *t)
{
    convop_shape s;
    DLDataType dtype;
    cvp_shape_of(t, &s, &dtype);
    return s;
}

int cvp_conv_forward_inputs(const void *params, int has_residual)
{
    const convop_conv_params *p = params;
    return 2 + has_residual + !p->no_bias;
}

convop_status cvp_conv_forward_infer(const char *op, const void *params, int has_residual, int n_in,
                                     convop_shape *in, convop_shape *out)
{
    const int bias = bias_place(has_residual);
    struct conv_shapes shapes = {.src = &in[SRC],
                                 .weights = &in[weights_place(has_residual)],
                                 .bias = n_in > bias ? &in[bias] : NULL,
                                 .dst = out,
                                 .names = cvp_conv_forward_names};
    shapes.names.op = op;
    if (has_residual)
        CVP_RETURN_IF_ERROR(cvp_conv_merge(op, "residual", &in[RESIDUAL], "dst (output)", out));
    CVP_RETURN_IF_ERROR(cvp_conv_infer(params, &shapes));
    if (has_residual) in[RESIDUAL] = *out;
    return CONVOP_OK;
}

/* A residual that may be dst itself is added as the request ADD adds: rows may keep parts of their
 * sums in dst. */
static int is_added_to(const convop_op_args *args, int has_residual)
{
    return args->requests[0] == (has_residual ? CONVOP_REQ_INPLACE : CONVOP_REQ_ADD);
}

static convop_status check_request(const convop_op_args *args, int has_residual)
{
    const convop_conv_params *p = args->params;
    if (args->requests[0] != CONVOP_REQ_ADD || (!has_residual && !p->activation)) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "Convolution: request add with %s: what an activation gives is only "
                       "written; dst is added to as a residual, with request inplace",
                       has_residual ? "a residual" : "an activation");
}

convop_status cvp_conv_forward_plan(const convop_op_args *args, int has_residual, void *plan_,
                                    size_t *workspace_bytes)
{
    struct conv_plan *plan = plan_;
    *workspace_bytes = 0;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(check_request(args, has_residual));
    const DLTensor *src = args->inputs[SRC], *dst = args->outputs[0];
    convop_shape src_shape = cvp_conv_shape_of(src), dst_shape = cvp_conv_shape_of(dst);
    const int weights = weights_place(has_residual), bias = bias_place(has_residual);
    const int adds = is_added_to(args, has_residual);
    struct conv_tensors t = {.src = src,
                             .weights = args->inputs[weights],
                             .bias = args->num_inputs > bias ? args->inputs[bias] : NULL,
                             .residual = has_residual && !adds ? args->inputs[RESIDUAL] : NULL,
                             .dst = dst};
    convop_conv_problem p;
    struct conv_terms terms = {.constants = args->constants >> weights & 1, .stream = args->stream};
    CVP_RETURN_IF_ERROR(cvp_conv_mode(args->params, &terms.mode));
    CVP_RETURN_IF_ERROR(cvp_conv_problem_init(
        &p, args->params, CONVOP_FWD, src->dtype, &src_shape, &dst_shape, &t, args->context,
        cvp_conv_workspace_limit(args->params, terms.mode, args->workspace_limit)));
    p.add = adds;
    if (p.mb == 0) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(cvp_conv_plan_init(plan, &p, &terms, args->context));
    *workspace_bytes = plan->bytes;
    if (!terms.constants) return CONVOP_OK;
    convop_status status = cvp_conv_plan_prepare(plan, cvp_tensor_data(args->inputs[weights]));
    if (status != CONVOP_OK) cvp_conv_plan_end(plan);
    return status;
}

static convop_status place_on_gpu(const convop_op_args *args, const DLTensor *from,
                                  const DLTensor *to)
{
    struct cvp_gpu_scope scope;
    const char *why;
    if (!cvp_tensor_is_compact(from) || !cvp_tensor_is_compact(to))
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "FusedConvolutionAdd: residual and dst lie apart and one has gaps, "
                           "which request inplace does not take on a GPU");
    CVP_RETURN_IF_ERROR(
        cvp_gpu_enter(cvp_gpu_get(to->device.device_id, &why), args->stream, &scope));
    unsigned result = scope.driver->copy_on_device((uintptr_t)cvp_tensor_data(to),
                                                   (uintptr_t)cvp_tensor_data(from),
                                                   cvp_tensor_bytes(to), scope.stream);
    convop_status status = cvp_driver_status(scope.driver, result, "copying a residual");
    cvp_gpu_leave(&scope);
    return status;
}

/* Brings a residual to where it is added to, unless it is there. */
static convop_status place_residual(const convop_op_args *args)
{
    const DLTensor *from = args->inputs[RESIDUAL], *to = args->outputs[0];
    if (cvp_tensor_data(from) == cvp_tensor_data(to)) return CONVOP_OK;
    if (cvp_is_on_gpu(to)) return place_on_gpu(args, from, to);
    int64_t from_strides[CONVOP_MAX_DIMS], to_strides[CONVOP_MAX_DIMS];
    cvp_tensor_strides(from, from_strides);
    cvp_tensor_strides(to, to_strides);
    cvp_copy_strided(args->context, to->ndim, to->shape, cvp_tensor_data(to), to_strides, to->dtype,
                     cvp_tensor_data(from), from_strides, from->dtype);
    return CONVOP_OK;
}

convop_status cvp_conv_forward_run(const convop_op_args *args, int has_residual, const void *plan_,
                                   void *workspace)
{
    const struct conv_plan *plan = plan_;
    if (!plan->impl) return CONVOP_OK; /* nothing is asked for, or the batch is empty */
    const int bias = bias_place(has_residual);
    if (has_residual && !plan->given.residual) CVP_RETURN_IF_ERROR(place_residual(args));
    convop_conv_operands t = {
        .src = cvp_tensor_data(args->inputs[SRC]),
        .weights = cvp_tensor_data(args->inputs[weights_place(has_residual)]),
        .bias = args->num_inputs > bias ? cvp_tensor_data(args->inputs[bias]) : NULL,
        .residual = plan->given.residual ? cvp_tensor_data(args->inputs[RESIDUAL]) : NULL,
        .out = cvp_tensor_data(args->outputs[0]),
        .stream = args->stream,
    };
    return cvp_conv_plan_run(plan, &t, args->context, workspace);
}

void cvp_conv_forward_end(void *plan)
{
    cvp_conv_plan_end(plan);
}
