/* Shape and dtype inference: what a caller knows goes to the operator as a copy, and only an answer
 * without contradiction comes back. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/common/text.h"
#include "src/registry/descriptor.h"
#include "src/registry/registry_internal.h"

int convop_shape_is_known(const convop_shape *shape)
{
    if (!shape || shape->ndim < 0 || shape->ndim > CONVOP_MAX_DIMS) return 0;
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dim[i] < 0) return 0;
    return 1;
}

/* The copies of one call. ins and outs lie in one block, as do the types. */
struct inference {
    int num_inputs, num_outputs;
    convop_shape *shapes;
    DLDataType *types; /* NULL: not asked for */
};

static convop_status check_count(const convop_op *op, const char *what, const convop_arg *args,
                                 int given, int needed)
{
    if (given == needed) return CONVOP_OK;
    char names[200];
    struct cvp_text text = cvp_text_in(names, sizeof names);
    for (int i = 0; i < needed; i++) cvp_text_add(&text, "%s%s", i == 0 ? "" : ", ", args[i].name);
    return convop_fail(CONVOP_E_INVALID, "%s: %d %s are given, these parameters take %d (%s)",
                       op->name, given, what, needed, names);
}

/* ndim -1 or 0..8, sizes -1 or more. */
static convop_status check_shape(const char *op, const char *name, const convop_shape *shape,
                                 convop_status otherwise)
{
    if (shape->ndim < -1 || shape->ndim > CONVOP_MAX_DIMS)
        return convop_fail(otherwise, "%s: %s has %d dimensions, allowed is -1..%d", op, name,
                           shape->ndim, CONVOP_MAX_DIMS);
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dim[i] < -1)
            return convop_fail(otherwise, "%s: %s has size %lld in dimension %d, allowed is >= -1",
                               op, name, (long long)shape->dim[i], i);
    return CONVOP_OK;
}

static convop_status check_shapes(const convop_op *op, const struct inference *own,
                                  convop_status otherwise)
{
    for (int i = 0; i < own->num_inputs + own->num_outputs; i++) {
        const char *name =
            i < own->num_inputs ? op->inputs[i].name : op->outputs[i - own->num_inputs].name;
        CVP_RETURN_IF_ERROR(check_shape(op->name, name, &own->shapes[i], otherwise));
    }
    return CONVOP_OK;
}

/* Where infer_type is NULL all dtypes are equal: the first known one is everybody's. */
static convop_status infer_equal_types(const convop_op *op, const struct inference *own)
{
    const int n = own->num_inputs + own->num_outputs;
    int first = 0;
    while (first < n && own->types[first].bits == 0) first++;
    for (int i = first; i < n; i++) {
        if (own->types[i].bits == 0 || cvp_dtype_equal(own->types[i], own->types[first])) continue;
        const convop_arg *a =
            first < own->num_inputs ? &op->inputs[first] : &op->outputs[first - own->num_inputs];
        const convop_arg *b =
            i < own->num_inputs ? &op->inputs[i] : &op->outputs[i - own->num_inputs];
        char has[16], needed[16];
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has dtype %s, but %s has dtype %s; all must be equal", op->name,
                           b->name, cvp_dtype_name(own->types[i], has), a->name,
                           cvp_dtype_name(own->types[first], needed));
    }
    for (int i = 0; first < n && i < n; i++) own->types[i] = own->types[first];
    return CONVOP_OK;
}

static convop_status infer_types(const convop_op *op, const void *params,
                                 const struct inference *own)
{
    if (!own->types) return CONVOP_OK;
    if (!op->infer_type) return infer_equal_types(op, own);
    return op->infer_type(params, own->num_inputs, own->types, own->num_outputs,
                          own->types + own->num_inputs);
}

static convop_status run(const convop_op *op, const void *params, const struct inference *own)
{
    CVP_RETURN_IF_ERROR(check_shapes(op, own, CONVOP_E_INVALID));
    CVP_RETURN_IF_ERROR(op->infer_shape(params, own->num_inputs, own->shapes, own->num_outputs,
                                        own->shapes + own->num_inputs));
    /* Callers index dim by ndim: an operator's slip must end here. */
    CVP_RETURN_IF_ERROR(check_shapes(op, own, CONVOP_E_INTERNAL));
    return infer_types(op, params, own);
}

static void copy(void *to, const void *from, int count, size_t size)
{
    if (count > 0) memcpy(to, from, (size_t)count * size);
}

/* Makes the copies, infers on them, and hands the answer back if there is one. */
static convop_status infer_on_copies(const convop_op *op, const void *params, int num_inputs,
                                     convop_shape *inputs, int num_outputs, convop_shape *outputs,
                                     DLDataType *types_in, DLDataType *types_out)
{
    const int want_types = types_in || types_out;
    const size_t n = (size_t)num_inputs + (size_t)num_outputs;
    struct inference own = {num_inputs, num_outputs, NULL, NULL};
    own.shapes = cvp_calloc(n, sizeof(convop_shape) + sizeof(DLDataType));
    if (!own.shapes)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to infer %zu shapes", op->name, n);
    if (want_types) own.types = (DLDataType *)(own.shapes + n);

    copy(own.shapes, inputs, num_inputs, sizeof *inputs);
    copy(own.shapes + num_inputs, outputs, num_outputs, sizeof *outputs);
    if (want_types) {
        copy(own.types, types_in, num_inputs, sizeof *types_in);
        copy(own.types + num_inputs, types_out, num_outputs, sizeof *types_out);
    }
    const convop_status status = run(op, params, &own);
    if (status == CONVOP_OK) {
        copy(inputs, own.shapes, num_inputs, sizeof *inputs);
        copy(outputs, own.shapes + num_inputs, num_outputs, sizeof *outputs);
        if (want_types) {
            copy(types_in, own.types, num_inputs, sizeof *types_in);
            copy(types_out, own.types + num_inputs, num_outputs, sizeof *types_out);
        }
    }
    cvp_free(own.shapes);
    return status;
}

convop_status convop_infer(const convop_op *op, const void *params, int num_inputs,
                           convop_shape *inputs, int num_outputs, convop_shape *outputs,
                           DLDataType *types_in, DLDataType *types_out)
{
    CVP_RETURN_IF_ERROR(cvp_descriptor_usable("convop_infer", op));
    if (!op->infer_shape)
        return convop_fail(CONVOP_E_INVALID, "%s: the descriptor's infer_shape is NULL", op->name);
    if (!params) return convop_fail(CONVOP_E_INVALID, "%s: params is NULL", op->name);
    CVP_RETURN_IF_ERROR(cvp_params_check(op, params));
    CVP_RETURN_IF_ERROR(
        check_count(op, "inputs", op->inputs, num_inputs, cvp_op_num_inputs(op, params)));
    CVP_RETURN_IF_ERROR(
        check_count(op, "outputs", op->outputs, num_outputs, cvp_op_num_outputs(op, params)));
    const int want_types = types_in || types_out;
    const char *missing = num_inputs > 0 && !inputs                     ? "inputs"
                          : num_outputs > 0 && !outputs                 ? "outputs"
                          : want_types && num_inputs > 0 && !types_in   ? "types_in"
                          : want_types && num_outputs > 0 && !types_out ? "types_out"
                                                                        : NULL;
    if (missing) return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL", op->name, missing);
    return infer_on_copies(op, params, num_inputs, inputs, num_outputs, outputs, types_in,
                           types_out);
}
