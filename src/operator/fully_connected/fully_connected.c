/* The operator FullyConnected: dst = src x transposed weights + bias. */
#include "src/operator/fully_connected/fully_connected.h"

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/operator/common.h"
#include "src/operator/fully_connected/product.h"

enum { SRC, WEIGHTS, BIAS, NUM_INPUTS };

static const convop_arg inputs[] = {
    [SRC] = {"src", "Rows to multiply: {n, ...}; without flatten {..., k}."},
    [WEIGHTS] = {"weights", "{num_hidden, k}, k being the size of a row of src."},
    [BIAS] = {"bias", "{num_hidden}; absent with no_bias."},
};

static const convop_arg outputs[] = {
    {"dst", "{n, num_hidden}; without flatten {..., num_hidden}."},
};

static int num_inputs(const void *params)
{
    const struct fc_params *p = params;
    return p->no_bias ? NUM_INPUTS - 1 : NUM_INPUTS;
}

static convop_status infer_shape(const void *params, int n_in, convop_shape *in, int n_out,
                                 convop_shape *out)
{
    (void)n_out;
    return cvp_fc_infer(params, &(struct fc_shapes){.src = &in[SRC],
                                                    .weights = &in[WEIGHTS],
                                                    .bias = n_in > BIAS ? &in[BIAS] : NULL,
                                                    .dst = &out[0],
                                                    .names = {"FullyConnected", "src", "weights",
                                                              "bias", "dst (output)"}});
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    struct fc_product *product = plan_;
    const struct fc_params *p = args->params;
    const DLTensor *src = args->inputs[SRC], *dst = args->outputs[0];
    *workspace_bytes = 0;
    CVP_RETURN_IF_ERROR(cvp_require_float("FullyConnected", src->dtype));
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(cvp_fc_product_init(
        product, cvp_fc_matrix(src, cvp_fc_split(p, src->ndim)),
        cvp_fc_transposed(cvp_fc_matrix(args->inputs[WEIGHTS], 1)),
        cvp_fc_matrix(dst, dst->ndim - 1), args->num_inputs > BIAS ? args->inputs[BIAS] : NULL,
        args, src->dtype, args->requests[0] == CONVOP_REQ_ADD));
    *workspace_bytes = product->bytes;
    return CONVOP_OK;
}

static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    cvp_fc_product_run(plan_, cvp_tensor_data(args->inputs[SRC]),
                       cvp_tensor_data(args->inputs[WEIGHTS]),
                       args->num_inputs > BIAS ? cvp_tensor_data(args->inputs[BIAS]) : NULL,
                       cvp_tensor_data(args->outputs[0]), args->context, workspace);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {
    {CONVOP_GRADIENT_BY_OUTPUT, 0},
    {CONVOP_GRADIENT_INPUT, SRC},
    {CONVOP_GRADIENT_INPUT, WEIGHTS},
};
static const int gradient_of[] = {SRC, WEIGHTS, BIAS};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_FullyConnected", gradient_inputs, 3, gradient_of, 3};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};

CONVOP_OP(FullyConnected) = {
    .struct_size = sizeof(convop_op),
    .name = "FullyConnected",
    .doc = "dst = src x transposed weights + bias.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct fc_params),
    .fields = cvp_fc_fields,
    .num_fields = FC_NUM_FIELDS,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = NUM_INPUTS,
    .max_outputs = 1,
    .num_inputs = num_inputs,
    .infer_shape = infer_shape,
    .plan_size = sizeof(struct fc_product),
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 1,
};
