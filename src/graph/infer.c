/* See infer.h. Each sweep makes something known or is the last, so the sweeps end. */
#include "src/graph/infer.h"

#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/common/text.h"
#include "src/operator/call.h"

/* Puts what is newly known into *to. 1 if there was something, 0 if not, -1 for a contradiction. */
static int merge_shape(convop_shape *to, const convop_shape *from)
{
    int changed = 0;
    if (from->ndim == -1) return 0;
    if (to->ndim == -1) {
        *to = *from;
        return 1;
    }
    if (to->ndim != from->ndim) return -1;
    for (int i = 0; i < to->ndim; i++) {
        if (from->dim[i] == -1 || to->dim[i] == from->dim[i]) continue;
        if (to->dim[i] != -1) return -1;
        to->dim[i] = from->dim[i];
        changed = 1;
    }
    return changed;
}

static int merge_type(DLDataType *to, DLDataType from)
{
    if (from.bits == 0) return 0;
    if (to->bits == 0) {
        *to = from;
        return 1;
    }
    return cvp_dtype_equal(*to, from) ? 0 : -1;
}

static int entry_of(const struct cvp_symbol *symbol, const struct cvp_node *node, int i)
{
    return i < node->num_inputs ? cvp_entry_id(symbol, node->inputs[i])
                                : node->first_entry + i - node->num_inputs;
}

static convop_status infer_node(const struct cvp_symbol *symbol, const struct cvp_node *node,
                                convop_shape *shapes, DLDataType *types, int *changed)
{
    convop_shape s[2 * CVP_MAX_ARGS];
    DLDataType t[2 * CVP_MAX_ARGS];
    const int in = node->num_inputs, all = in + node->num_outputs;
    for (int i = 0; i < all; i++) {
        s[i] = shapes[entry_of(symbol, node, i)];
        t[i] = types[entry_of(symbol, node, i)];
    }
    convop_status status =
        convop_infer(node->op, node->params, in, s, node->num_outputs, s + in, t, t + in);
    if (status != CONVOP_OK) return cvp_node_fail(status, "node", node->name);
    for (int i = 0; i < all; i++) {
        const int e = entry_of(symbol, node, i);
        const int shape = merge_shape(&shapes[e], &s[i]), type = merge_type(&types[e], t[i]);
        /* Only where one variable is used twice: each use alone is without contradiction. */
        if (shape < 0 || type < 0)
            return convop_fail(CONVOP_E_INVALID,
                               "node %s: %s: what is used as %s is used as another input too, and "
                               "the two have different %ss",
                               node->name, node->op->name,
                               i < in ? node->op->inputs[i].name : node->op->outputs[i - in].name,
                               shape < 0 ? "shape" : "dtype");
        *changed |= shape | type;
    }
    return CONVOP_OK;
}

/* 1 if an output of the node has no known shape, or no known dtype. */
static int lacks(const struct cvp_node *node, int shape, const convop_shape *shapes,
                 const DLDataType *types)
{
    for (int e = node->first_entry; e < node->first_entry + node->num_outputs; e++)
        if (shape ? !convop_shape_is_known(&shapes[e]) : types[e].bits == 0) return 1;
    return 0;
}

/* Names the variables, where it is not their fault the operators. */
static convop_status check_known(const struct cvp_symbol *symbol, const int *order, int count,
                                 const convop_shape *shapes, const DLDataType *types)
{
    for (int what = 0; what < 4; what++) {
        const int shape = what < 2, variables = what % 2 == 0;
        char names[400];
        struct cvp_text text = cvp_text_in(names, sizeof names);
        for (int i = 0; i < count; i++) {
            const struct cvp_node *node = symbol->nodes[order[i]];
            if ((node->op == NULL) == variables && lacks(node, shape, shapes, types))
                cvp_text_add(&text, "%s%s", text.need > 0 ? ", " : "", node->name);
        }
        if (text.need > 0)
            return convop_fail(CONVOP_E_INVALID,
                               "graph: these have no %s that follows from what is given: %s",
                               shape ? "shape" : "dtype", names);
    }
    return CONVOP_OK;
}

convop_status cvp_graph_infer(const struct cvp_symbol *symbol, const int *order, int count,
                              convop_shape *shapes, DLDataType *types)
{
    int still = 0; /* a sweep in each direction without a change ends it */
    for (int backward = 0; still < 2; backward = !backward) {
        int changed = 0;
        for (int i = 0; i < count; i++) {
            const struct cvp_node *node = symbol->nodes[order[backward ? count - 1 - i : i]];
            if (node->op) CVP_RETURN_IF_ERROR(infer_node(symbol, node, shapes, types, &changed));
        }
        still = changed ? 0 : still + 1;
    }
    return check_known(symbol, order, count, shapes, types);
}
