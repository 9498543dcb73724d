/* The checks of a descriptor. They are what makes a half-filled one an error at registration
 * instead of a crash at the first call. */
#include "src/registry/descriptor.h"

#include <string.h>

#include "src/common/status.h"
#include "src/registry/field.h"

/* Above it struct_size was not set; reading that far would leave the caller's memory. */
#define MAX_STRUCT_SIZE 4096

static convop_status incomplete(const char *op, const char *member, const char *why)
{
    return convop_fail(CONVOP_E_INVALID, "%s: the descriptor's %s %s", op, member, why);
}

static int is_empty(const char *text)
{
    return !text || !text[0];
}

convop_status cvp_descriptor_usable(const char *caller, const convop_op *op)
{
    if (!op) return convop_fail(CONVOP_E_INVALID, "%s: op is NULL", caller);
    if (op->struct_size < sizeof *op)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's struct_size is %zu, needed is %zu", caller,
                           op->struct_size, sizeof *op);
    if (is_empty(op->name)) return incomplete(caller, "name", "is NULL or empty");
    return CONVOP_OK;
}

/* A descriptor of a later convop may be larger; what lies behind ours must ask for nothing. */
static convop_status check_tail(const convop_op *op)
{
    if (op->struct_size > MAX_STRUCT_SIZE)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's struct_size is %zu, allowed is %zu..%d", op->name,
                           op->struct_size, sizeof *op, MAX_STRUCT_SIZE);
    const unsigned char *bytes = (const unsigned char *)op;
    for (size_t i = sizeof *op; i < op->struct_size; i++)
        if (bytes[i] != 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: the descriptor's byte %zu is set, this convop knows %zu bytes",
                               op->name, i, sizeof *op);
    return CONVOP_OK;
}

static convop_status check_functions(const convop_op *op)
{
    if (!op->infer_shape) return incomplete(op->name, "infer_shape", "is NULL");
    if (!op->plan) return incomplete(op->name, "plan", "is NULL");
    if (!op->run) return incomplete(op->name, "run", "is NULL");
    return CONVOP_OK;
}

static convop_status check_args(const char *op, const char *what, const convop_arg *args, int max)
{
    if (max > 0 && !args) return incomplete(op, what, "is NULL");
    for (int i = 0; i < max; i++) {
        if (is_empty(args[i].name))
            return convop_fail(CONVOP_E_INVALID,
                               "%s: the descriptor's %s[%d].name is NULL or empty", op, what, i);
        for (int j = 0; j < i; j++)
            if (strcmp(args[i].name, args[j].name) == 0)
                return convop_fail(CONVOP_E_INVALID,
                                   "%s: the descriptor's %s[%d] and %s[%d] are both named \"%s\"",
                                   op, what, j, what, i, args[i].name);
    }
    return CONVOP_OK;
}

static convop_status check_fields(const convop_op *op)
{
    if (op->params_size < sizeof(size_t))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's params_size is %zu, needed is %zu for struct_size",
                           op->name, op->params_size, sizeof(size_t));
    if (op->num_fields > 0 && !op->fields) return incomplete(op->name, "fields", "is NULL");
    for (size_t i = 0; i < op->num_fields; i++) {
        CVP_RETURN_IF_ERROR(cvp_field_check_table(op->name, i, &op->fields[i], op->params_size));
        for (size_t j = 0; j < i; j++)
            if (strcmp(op->fields[i].name, op->fields[j].name) == 0)
                return convop_fail(
                    CONVOP_E_INVALID,
                    "%s: the descriptor's fields[%zu] and fields[%zu] are both named "
                    "\"%s\"",
                    op->name, j, i, op->fields[i].name);
    }
    return CONVOP_OK;
}

convop_status cvp_descriptor_check_attr(const char *op_name, const convop_attr *attr)
{
    /* Attributes stand in arrays: another size would move the next one. */
    if (attr->struct_size != sizeof *attr)
        return convop_fail(CONVOP_E_INVALID, "%s: an attribute's struct_size is %zu, needed is %zu",
                           op_name, attr->struct_size, sizeof *attr);
    if (is_empty(attr->key))
        return convop_fail(CONVOP_E_INVALID, "%s: an attribute's key is NULL or empty", op_name);
    const char *member = is_empty(attr->type) ? "type" : !attr->value ? "value" : NULL;
    if (member)
        return convop_fail(CONVOP_E_INVALID, "%s: the %s of attribute \"%.40s\" is NULL or empty",
                           op_name, member, attr->key);
    return CONVOP_OK;
}

static convop_status check_attrs(const convop_op *op)
{
    if (op->num_attrs > 0 && !op->attrs) return incomplete(op->name, "attrs", "is NULL");
    for (size_t i = 0; i < op->num_attrs; i++) {
        CVP_RETURN_IF_ERROR(cvp_descriptor_check_attr(op->name, &op->attrs[i]));
        for (size_t j = 0; j < i; j++)
            if (strcmp(op->attrs[i].key, op->attrs[j].key) == 0)
                return convop_fail(CONVOP_E_INVALID,
                                   "%s: the descriptor's attrs have \"%.40s\" twice", op->name,
                                   op->attrs[i].key);
    }
    return CONVOP_OK;
}

static convop_status check_inplace(const convop_op *op)
{
    if (op->num_inplace > 0 && !op->inplace) return incomplete(op->name, "inplace", "is NULL");
    for (size_t i = 0; i < op->num_inplace; i++)
        if (op->inplace[i].input < 0 || op->inplace[i].input >= op->max_inputs ||
            op->inplace[i].output < 0 || op->inplace[i].output >= op->max_outputs)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: the descriptor's inplace[%zu] is {%d, %d}: there is no such "
                               "input or output",
                               op->name, i, op->inplace[i].input, op->inplace[i].output);
    if (op->max_inputs < 32 && op->mutated_inputs >> op->max_inputs)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's mutated_inputs is 0x%x, of %d inputs", op->name,
                           op->mutated_inputs, op->max_inputs);
    return CONVOP_OK;
}

convop_status cvp_descriptor_check(const char *caller, const convop_op *op)
{
    CVP_RETURN_IF_ERROR(cvp_descriptor_usable(caller, op));
    CVP_RETURN_IF_ERROR(check_tail(op));
    if (op->level < 1)
        return convop_fail(CONVOP_E_INVALID, "%s: the descriptor's level is %d, needed is >= 1",
                           op->name, op->level);
    if (op->max_inputs < 0)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's max_inputs is %d, needed is >= 0", op->name,
                           op->max_inputs);
    if (op->max_outputs < 1)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's max_outputs is %d, needed is >= 1", op->name,
                           op->max_outputs);
    CVP_RETURN_IF_ERROR(check_functions(op));
    CVP_RETURN_IF_ERROR(check_args(op->name, "inputs", op->inputs, op->max_inputs));
    CVP_RETURN_IF_ERROR(check_args(op->name, "outputs", op->outputs, op->max_outputs));
    CVP_RETURN_IF_ERROR(check_fields(op));
    CVP_RETURN_IF_ERROR(check_inplace(op));
    return check_attrs(op);
}
