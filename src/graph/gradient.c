/* See gradient.h. Nodes are taken in reverse order, so all gradients that flow into an output are
 * there before its node's own gradient step, and are summed in the order of their users, the last
 * user first; then comes the gradient that the caller gives for an output of the symbol.
 *
 * The first of several gradients is written, the others are added in place. */
#include "src/graph/gradient.h"

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/graph/basic.h"
#include "src/registry/registry_internal.h"

struct pass {
    struct cvp_program *p;
    const struct cvp_want *wants;
    unsigned char *needed; /* by node: some wanted gradient lies behind it */
    int *partial;          /* by entry: the value of the gradient so far, or -1 */
};

static const convop_gradient *gradient_of(const struct cvp_node *node)
{
    const void *value;
    if (convop_op_attr(node->op, "gradient", "convop_gradient", &value) != CONVOP_OK) return NULL;
    const convop_gradient *g = value;
    return g->struct_size >= sizeof *g ? g : NULL;
}

static int is_needed(const struct pass *x, int id)
{
    const struct cvp_node *node = x->p->symbol->nodes[id];
    if (!node->op) return !node->is_auxiliary && x->wants[id].request != CONVOP_REQ_NULL;
    const convop_gradient *g = gradient_of(node);
    /* Without a gradient it is an error, but only if one arrives. */
    for (int i = 0; i < (g ? g->num_of : node->num_inputs); i++) {
        int input = g ? g->of[i] : i;
        if (input < node->num_inputs && x->needed[node->inputs[input].node]) return 1;
    }
    return 0;
}

static convop_status add_basic(struct pass *x, const convop_op *op, int node, int from, int to,
                               convop_request request)
{
    struct cvp_step *step = NULL;
    CVP_RETURN_IF_ERROR(cvp_program_step(x->p, op, node, &step));
    step->params = cvp_graph_no_params;
    step->is_backward = 1;
    step->num_inputs = from >= 0;
    step->inputs[0] = from;
    step->num_outputs = 1;
    step->outputs[0] = to;
    step->requests[0] = request;
    return CONVOP_OK;
}

/* Where the next gradient by this entry goes, and how. *to -1: nobody wants it. */
static convop_status target(struct pass *x, struct cvp_entry e, int *to, convop_request *request)
{
    struct cvp_program *p = x->p;
    const int entry = cvp_entry_id(p->symbol, e);
    *to = -1;
    *request = CONVOP_REQ_NULL;
    if (!x->needed[e.node]) return CONVOP_OK;
    const int is_argument = !p->symbol->nodes[e.node]->op;
    int *have = is_argument ? &p->gradients[e.node] : &x->partial[entry];
    *request = *have >= 0 || (is_argument && x->wants[e.node].request == CONVOP_REQ_ADD)
                   ? CONVOP_REQ_ADD
                   : CONVOP_REQ_WRITE;
    if (*have < 0)
        CVP_RETURN_IF_ERROR(cvp_program_value(
            p, is_argument ? CVP_VALUE_GRADIENT : CVP_VALUE_PARTIAL, entry, have));
    *to = *have;
    return CONVOP_OK;
}

/* Adds what the caller gives for outputs of the symbol that are this entry. A gradient that has no
 * other part is used as it is given. */
static convop_status add_heads(struct pass *x, struct cvp_entry e)
{
    struct cvp_program *p = x->p;
    const int entry = cvp_entry_id(p->symbol, e);
    int count = 0;
    for (int i = 0; i < p->symbol->num_outputs; i++)
        count += cvp_entry_id(p->symbol, p->symbol->outputs[i]) == entry;
    for (int i = 0; i < p->symbol->num_outputs; i++) {
        if (cvp_entry_id(p->symbol, p->symbol->outputs[i]) != entry) continue;
        int to;
        convop_request request;
        CVP_RETURN_IF_ERROR(cvp_program_value(p, CVP_VALUE_HEAD, entry, &p->heads[i]));
        if (count == 1 && p->symbol->nodes[e.node]->op && x->partial[entry] < 0) {
            x->partial[entry] = p->heads[i];
            return CONVOP_OK;
        }
        CVP_RETURN_IF_ERROR(target(x, e, &to, &request));
        CVP_RETURN_IF_ERROR(add_basic(x, &cvp_graph_copy, e.node, p->heads[i], to, request));
    }
    return CONVOP_OK;
}

/* The gradient operator of a node, and the parts of its lists that these parameters leave. */
struct resolved {
    convop_gradient_input inputs[CVP_MAX_ARGS];
    int of[CVP_MAX_ARGS];
    int num_inputs, num_of;
};

/* Sources that the node does not have (a bias) are left out; then the lists end with the arguments
 * of the gradient operator, which may leave out the last (the gradient by the output of a loss). */
static convop_status resolve(const struct cvp_node *node, const convop_gradient *g,
                             const struct cvp_step *step, struct resolved *r)
{
    const int in = cvp_op_num_inputs(step->op, step->params);
    const int out = cvp_op_num_outputs(step->op, step->params);
    *r = (struct resolved){.num_inputs = 0};
    if (in > CVP_MAX_ARGS || out > CVP_MAX_ARGS)
        return convop_fail(CONVOP_E_UNSUPPORTED, "%s: more than %d inputs or outputs", g->op,
                           CVP_MAX_ARGS);
    for (int i = 0; i < g->num_inputs && r->num_inputs < in; i++) {
        const int from_input = g->inputs[i].source == CONVOP_GRADIENT_INPUT;
        if (g->inputs[i].index < (from_input ? node->num_inputs : node->num_outputs))
            r->inputs[r->num_inputs++] = g->inputs[i];
    }
    for (int i = 0; i < g->num_of && r->num_of < out; i++)
        if (g->of[i] < node->num_inputs) r->of[r->num_of++] = g->of[i];
    if (r->num_inputs == in && r->num_of == out) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "%s: its attribute \"gradient\" has %d inputs and %d outputs for %s, which "
                       "takes %d and %d",
                       node->op->name, r->num_inputs, r->num_of, g->op, in, out);
}

/* The gradient operator, from the same text. What it makes belongs to the step. */
static convop_status set_operator(const struct cvp_node *node, const convop_gradient *g,
                                  struct cvp_step *step)
{
    CVP_RETURN_IF_ERROR(convop_op_find(g->op, &step->op));
    step->owns = 1;
    void *params = cvp_calloc(1, step->op->params_size ? step->op->params_size : 1);
    step->params = params;
    if (!params) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", g->op);
    return convop_params_parse(step->op, node->num_params, (const char *const *)node->keys,
                               (const char *const *)node->values, params, step->op->params_size);
}

static void end_operator(struct cvp_step *step)
{
    if (!step->owns) return;
    cvp_free((void *)(uintptr_t)step->params);
    convop_op_release(&step->op);
}

/* Collects the gradients by outputs that the gradient operator reads. *arrives: there is one, or
 * the operator asks for none (a loss). */
static convop_status collect(struct pass *x, int id, const struct resolved *r, int *arrives)
{
    int asks = 0, have = 0;
    for (int i = 0; i < r->num_inputs; i++) {
        if (r->inputs[i].source != CONVOP_GRADIENT_BY_OUTPUT) continue;
        asks = 1;
        struct cvp_entry e = {id, r->inputs[i].index};
        CVP_RETURN_IF_ERROR(add_heads(x, e));
        have |= x->partial[cvp_entry_id(x->p->symbol, e)] >= 0;
    }
    *arrives = have || !asks;
    return CONVOP_OK;
}

static convop_status set_inputs(struct pass *x, int id, const struct resolved *r,
                                struct cvp_step *step)
{
    struct cvp_program *p = x->p;
    const struct cvp_node *node = p->symbol->nodes[id];
    step->num_inputs = r->num_inputs;
    for (int i = 0; i < r->num_inputs; i++) {
        const convop_gradient_input s = r->inputs[i];
        int value = s.source == CONVOP_GRADIENT_INPUT
                        ? cvp_entry_id(p->symbol, node->inputs[s.index])
                        : node->first_entry + s.index;
        if (s.source == CONVOP_GRADIENT_BY_OUTPUT) {
            /* An output that nothing uses: the gradient by it is zero. */
            int *have = &x->partial[value];
            if (*have < 0) {
                CVP_RETURN_IF_ERROR(cvp_program_value(p, CVP_VALUE_PARTIAL, value, have));
                CVP_RETURN_IF_ERROR(
                    add_basic(x, &cvp_graph_zeros, id, -1, *have, CONVOP_REQ_WRITE));
            }
            value = *have;
        }
        step->inputs[i] = value;
    }
    return CONVOP_OK;
}

/* A step must not write one place twice (x + x): the second part goes through a value of its own.
 * extra: for each output, the value to be added to, or -1. */
static convop_status set_outputs(struct pass *x, int id, const struct resolved *r,
                                 struct cvp_step *step, int extra[CVP_MAX_ARGS])
{
    const struct cvp_node *node = x->p->symbol->nodes[id];
    step->num_outputs = r->num_of;
    for (int k = 0; k < r->num_of; k++) {
        const struct cvp_entry e = node->inputs[r->of[k]];
        CVP_RETURN_IF_ERROR(target(x, e, &step->outputs[k], &step->requests[k]));
        extra[k] = -1;
        for (int j = 0; j < k && step->outputs[k] >= 0; j++) {
            if (step->outputs[j] != step->outputs[k]) continue;
            extra[k] = step->outputs[k];
            step->requests[k] = CONVOP_REQ_WRITE;
            CVP_RETURN_IF_ERROR(cvp_program_value(
                x->p, CVP_VALUE_PARTIAL, cvp_entry_id(x->p->symbol, e), &step->outputs[k]));
            break;
        }
    }
    return CONVOP_OK;
}

/* Adds the step and what it needs around it. *taken: the operator is the program's now. */
static convop_status add_gradient(struct pass *x, int id, const convop_gradient *g,
                                  struct cvp_step *step, int *taken)
{
    struct resolved r;
    struct cvp_step *added;
    int arrives, extra[CVP_MAX_ARGS];
    const struct cvp_node *node = x->p->symbol->nodes[id];
    CVP_RETURN_IF_ERROR(set_operator(node, g, step));
    CVP_RETURN_IF_ERROR(resolve(node, g, step, &r));
    CVP_RETURN_IF_ERROR(collect(x, id, &r, &arrives));
    if (!arrives) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(set_inputs(x, id, &r, step));
    CVP_RETURN_IF_ERROR(set_outputs(x, id, &r, step, extra));
    CVP_RETURN_IF_ERROR(cvp_program_step(x->p, step->op, id, &added));
    *added = *step;
    *taken = 1;
    for (int i = 0; i < r.num_of; i++)
        if (step->outputs[i] >= 0 && extra[i] >= 0)
            CVP_RETURN_IF_ERROR(
                add_basic(x, &cvp_graph_copy, id, step->outputs[i], extra[i], CONVOP_REQ_ADD));
    return CONVOP_OK;
}

/* 1 if a gradient arrives at an output of a node that passes none on. */
static int has_arrived(const struct pass *x, int id)
{
    const struct cvp_symbol *symbol = x->p->symbol;
    const struct cvp_node *node = symbol->nodes[id];
    for (int e = node->first_entry; e < node->first_entry + node->num_outputs; e++)
        if (x->partial[e] >= 0 || x->p->values[e].is_output) return 1;
    return 0;
}

static convop_status add_node(struct pass *x, int id)
{
    const struct cvp_node *node = x->p->symbol->nodes[id];
    if (!x->needed[id]) return CONVOP_OK;
    const convop_gradient *g = gradient_of(node);
    if (g) {
        struct cvp_step step = {.node = id, .is_backward = 1};
        int taken = 0;
        convop_status status = add_gradient(x, id, g, &step, &taken);
        if (!taken) end_operator(&step);
        return status == CONVOP_OK ? status : cvp_node_fail(status, "gradient of node", node->name);
    }
    if (!has_arrived(x, id)) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "node %s: operator %s has no attribute \"gradient\", and gradients of what "
                       "it depends on are asked for",
                       node->name, node->op->name);
}

/* What the outputs of the symbol that are arguments add, and arguments that nothing reached. */
static convop_status end_argument(struct pass *x, int id)
{
    const struct cvp_want want = x->wants[id];
    if (!x->needed[id]) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(add_heads(x, (struct cvp_entry){id, 0}));
    int *have = &x->p->gradients[id];
    if (*have >= 0 || want.only_if_reached) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(
        cvp_program_value(x->p, CVP_VALUE_GRADIENT, x->p->symbol->nodes[id]->first_entry, have));
    if (want.request == CONVOP_REQ_ADD) return CONVOP_OK;
    return add_basic(x, &cvp_graph_zeros, id, -1, *have, CONVOP_REQ_WRITE);
}

static convop_status run_pass(struct pass *x)
{
    const struct cvp_program *p = x->p;
    for (int i = 0; i < p->symbol->num_entries; i++) x->partial[i] = -1;
    for (int i = 0; i < p->num_ordered; i++)
        x->needed[p->order[i]] = (unsigned char)is_needed(x, p->order[i]);
    for (int i = p->num_ordered - 1; i >= 0; i--)
        if (p->symbol->nodes[p->order[i]]->op) CVP_RETURN_IF_ERROR(add_node(x, p->order[i]));
    for (int i = p->num_ordered - 1; i >= 0; i--)
        if (!p->symbol->nodes[p->order[i]]->op) CVP_RETURN_IF_ERROR(end_argument(x, p->order[i]));
    return CONVOP_OK;
}

convop_status cvp_program_differentiate(struct cvp_program *p, const struct cvp_want *wants)
{
    const size_t nodes = (size_t)p->symbol->num_nodes, entries = (size_t)p->symbol->num_entries;
    struct pass x = {.p = p, .wants = wants};
    x.partial = cvp_calloc(entries * sizeof *x.partial + nodes + 1, 1);
    if (!x.partial) return convop_fail(CONVOP_E_NO_MEMORY, "graph: no memory for its gradients");
    x.needed = (unsigned char *)(x.partial + entries);
    convop_status status = run_pass(&x);
    cvp_free(x.partial);
    return status;
}
