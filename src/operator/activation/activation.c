/* The operator Activation: a function of each element. Names of the functions are MXNet's. */
#include "src/operator/activation/activation.h"

#include "src/common/status.h"

enum { SRC };
enum { DST };

static const convop_arg inputs[] = {{"src", "Any shape."}};
static const convop_arg outputs[] = {{"dst", "Of src's shape."}};

static const convop_enum_value types[] = {
    {"relu", ACTIVATION_RELU},         {"sigmoid", ACTIVATION_SIGMOID},   {"tanh", ACTIVATION_TANH},
    {"softrelu", ACTIVATION_SOFTRELU}, {"softsign", ACTIVATION_SOFTSIGN}, {NULL, 0},
};

const convop_field cvp_activation_fields[1] = {{
    .struct_size = sizeof(convop_field),
    .name = "act_type",
    .kind = CONVOP_FIELD_ENUM,
    .offset = offsetof(struct activation_params, act_type),
    .values = types,
    .doc = "relu: max(x, 0). sigmoid: 1 / (1 + exp(-x)). tanh. softrelu: log(1 + exp(x)). "
           "softsign: x / (1 + |x|).",
}};

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return cvp_shape_equal("Activation", 2, (const convop_arg *const[]){inputs, outputs},
                           (convop_shape *const[]){in, out});
}

static convop_status plan(const convop_op_args *args, void *plan, size_t *workspace_bytes)
{
    (void)plan, (void)workspace_bytes;
    return cvp_require_float("Activation", args->inputs[SRC]->dtype);
}

static convop_status run(const convop_op_args *args, const void *plan, void *workspace)
{
    (void)plan, (void)workspace;
    const struct activation_params *p = args->params;
    convop_request request = args->requests[DST];
    if (request == CONVOP_REQ_NULL) return CONVOP_OK;
    const DLTensor *tensors[] = {args->outputs[DST], args->inputs[SRC]};
    cvp_elementwise(args->context, 2, tensors,
                    cvp_activation_forward[tensors[0]->dtype.bits == 64][p->act_type], &request);
    return CONVOP_OK;
}

static const convop_gradient_input gradient_inputs[] = {
    {CONVOP_GRADIENT_BY_OUTPUT, DST},
    {CONVOP_GRADIENT_OUTPUT, DST},
};
static const int gradient_of[] = {SRC};
static const convop_gradient gradient = {
    sizeof gradient, "_backward_Activation", gradient_inputs, 2, gradient_of, 1};
static const convop_attr attrs[] = {
    {sizeof(convop_attr), "gradient", "convop_gradient", &gradient},
};
static const convop_inplace inplace[] = {{SRC, DST}};

CONVOP_OP(Activation) = {
    .struct_size = sizeof(convop_op),
    .name = "Activation",
    .doc = "A function of each element. NaN gives NaN, with relu too. float32 and float64.",
    .level = CONVOP_LEVEL_BUILTIN,
    .params_size = sizeof(struct activation_params),
    .fields = cvp_activation_fields,
    .num_fields = 1,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .attrs = attrs,
    .num_attrs = 1,
    .inplace = inplace,
    .num_inplace = 1,
};
