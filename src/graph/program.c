/* See program.h: the forward part. */
#include "src/graph/program.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/common/tensor.h"
#include "src/graph/infer.h"

static convop_status no_memory(void)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "graph: no memory for its steps");
}

/* The size of a tensor, checked against overflow as every tensor of a call is. */
static convop_status bytes_of(const struct cvp_program *p, int entry, const char *name,
                              size_t *bytes)
{
    convop_shape shape = p->shapes[entry];
    DLTensor t = {.ndim = shape.ndim, .dtype = p->types[entry], .shape = shape.dim};
    t.device.device_type = kDLCPU;
    CVP_RETURN_IF_ERROR(cvp_tensor_check("graph", name, &t, CVP_QUERY));
    *bytes = cvp_tensor_bytes(&t);
    return CONVOP_OK;
}

convop_status cvp_program_value(struct cvp_program *p, enum cvp_value_kind kind, int entry,
                                int *out)
{
    if (p->num_values == p->values_room) {
        int room = 2 * p->values_room + 16;
        void *values = cvp_realloc(p->values, (size_t)room * sizeof *p->values);
        if (!values) return no_memory();
        p->values = values;
        p->values_room = room;
    }
    p->values[p->num_values] =
        (struct cvp_value){kind, entry, 0, 0, entry < 0 ? 0 : p->values[entry].bytes};
    *out = p->num_values++;
    return CONVOP_OK;
}

convop_status cvp_program_step(struct cvp_program *p, const convop_op *op, int node,
                               struct cvp_step **out)
{
    if (p->num_steps == p->steps_room) {
        int room = 2 * p->steps_room + 16;
        void *steps = cvp_realloc(p->steps, (size_t)room * sizeof *p->steps);
        if (!steps) return no_memory();
        p->steps = steps;
        p->steps_room = room;
    }
    struct cvp_step *step = &p->steps[p->num_steps++];
    memset(step, 0, sizeof *step);
    step->op = op;
    step->node = node;
    *out = step;
    return CONVOP_OK;
}

/* The entries as values; those of nodes that no output needs stay without memory. */
static convop_status add_entries(struct cvp_program *p)
{
    const struct cvp_symbol *symbol = p->symbol;
    for (int i = 0, v; i < symbol->num_entries; i++)
        CVP_RETURN_IF_ERROR(cvp_program_value(p, CVP_VALUE_RESULT, -1, &v));
    for (int i = 0; i < p->num_ordered; i++) {
        const struct cvp_node *node = symbol->nodes[p->order[i]];
        for (int e = node->first_entry; e < node->first_entry + node->num_outputs; e++) {
            p->values[e].entry = e;
            p->values[e].kind = node->op ? CVP_VALUE_RESULT : CVP_VALUE_VARIABLE;
            CVP_RETURN_IF_ERROR(bytes_of(p, e, node->name, &p->values[e].bytes));
        }
    }
    for (int i = 0; i < symbol->num_outputs; i++)
        p->values[cvp_entry_id(symbol, symbol->outputs[i])].is_output = 1;
    return CONVOP_OK;
}

static convop_status add_forward_step(struct cvp_program *p, int id)
{
    const struct cvp_node *node = p->symbol->nodes[id];
    struct cvp_step *step = NULL;
    CVP_RETURN_IF_ERROR(cvp_program_step(p, node->op, id, &step));
    step->params = node->params;
    step->num_inputs = node->num_inputs;
    step->num_outputs = node->num_outputs;
    for (int i = 0; i < node->num_inputs; i++)
        step->inputs[i] = cvp_entry_id(p->symbol, node->inputs[i]);
    for (int i = 0; i < node->num_outputs; i++) {
        step->outputs[i] = node->first_entry + i;
        step->requests[i] = CONVOP_REQ_WRITE;
    }
    return CONVOP_OK;
}

convop_status cvp_program_init(struct cvp_program *p, const struct cvp_symbol *symbol,
                               const convop_shape *shapes, const DLDataType *types)
{
    *p = (struct cvp_program){.symbol = symbol};
    const size_t nodes = (size_t)symbol->num_nodes, entries = (size_t)symbol->num_entries;
    p->order = cvp_malloc((nodes + 1) * sizeof *p->order);
    p->shapes = cvp_malloc((entries + 1) * sizeof *p->shapes);
    p->types = cvp_malloc((entries + 1) * sizeof *p->types);
    p->gradients = cvp_malloc((nodes + 1) * sizeof *p->gradients);
    p->heads = cvp_malloc(((size_t)symbol->num_outputs + 1) * sizeof *p->heads);
    if (!p->order || !p->shapes || !p->types || !p->gradients || !p->heads) return no_memory();
    memcpy(p->shapes, shapes, entries * sizeof *shapes);
    memcpy(p->types, types, entries * sizeof *types);
    for (size_t i = 0; i < nodes; i++) p->gradients[i] = -1;
    for (int i = 0; i < symbol->num_outputs; i++) p->heads[i] = -1;

    CVP_RETURN_IF_ERROR(cvp_symbol_order(symbol, p->order, &p->num_ordered));
    CVP_RETURN_IF_ERROR(cvp_graph_infer(symbol, p->order, p->num_ordered, p->shapes, p->types));
    CVP_RETURN_IF_ERROR(add_entries(p));
    for (int i = 0; i < p->num_ordered; i++)
        if (symbol->nodes[p->order[i]]->op) CVP_RETURN_IF_ERROR(add_forward_step(p, p->order[i]));
    p->num_forward = p->num_steps;
    return CONVOP_OK;
}

/* Marks what the step writes. 1: it reads constants alone. */
static int mark_constants(struct cvp_program *p, const struct cvp_step *step)
{
    if (step->op->mutated_inputs) return 0;
    for (int i = 0; i < step->num_inputs; i++)
        if (!p->values[step->inputs[i]].is_constant) return 0;
    /* They keep their places, as outputs do. */
    for (int i = 0; i < step->num_outputs; i++) {
        p->values[step->outputs[i]].is_constant = 1;
        p->values[step->outputs[i]].is_output = 1;
    }
    return 1;
}

convop_status cvp_program_set_constants(struct cvp_program *p, const unsigned char *is_input)
{
    for (int i = 0; i < p->num_ordered; i++) {
        const struct cvp_node *node = p->symbol->nodes[p->order[i]];
        p->values[node->first_entry].is_constant = !node->op && !is_input[p->order[i]];
    }
    for (int i = 0; i < p->num_steps; i++)
        for (int k = 0; k < p->steps[i].num_inputs; k++)
            if (p->steps[i].op->mutated_inputs >> k & 1)
                p->values[p->steps[i].inputs[k]].is_constant = 0;
    struct cvp_step *others = cvp_malloc(((size_t)p->num_steps + 1) * sizeof *others);
    if (!others) return no_memory();
    int num_others = 0;
    for (int i = 0; i < p->num_steps; i++) {
        const struct cvp_step step = p->steps[i];
        if (mark_constants(p, &step))
            p->steps[p->num_constant++] = step;
        else
            others[num_others++] = step;
    }
    memcpy(p->steps + p->num_constant, others, (size_t)num_others * sizeof *others);
    cvp_free(others);
    return CONVOP_OK;
}

void cvp_program_free(struct cvp_program *p)
{
    for (int i = 0; i < p->num_steps; i++) {
        if (!p->steps[i].owns) continue;
        const void *params = p->steps[i].params;
        cvp_free((void *)(uintptr_t)params);
        convop_op_release(&p->steps[i].op);
    }
    cvp_free(p->steps);
    cvp_free(p->values);
    cvp_free(p->heads);
    cvp_free(p->gradients);
    cvp_free(p->types);
    cvp_free(p->shapes);
    cvp_free(p->order);
    *p = (struct cvp_program){0};
}
