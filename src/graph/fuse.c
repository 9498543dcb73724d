/* See fuse.h. First each convolution finds what follows it, then the nodes are written anew. */
#include "src/graph/fuse.h"

#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/operator/activation/activation.h"
#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/call.h"
#include "src/operator/clip/clip.h"
#include "src/operator/convolution/params.h"

extern CONVOP_OP(Convolution);
extern CONVOP_OP(BatchNorm);
extern CONVOP_OP(Activation);
extern CONVOP_OP(clip);
extern CONVOP_OP(elemwise_add);

/* A convolution and what follows it; -1 where there is none. */
struct chain {
    int convolution, norm, add, activation, last;
    struct cvp_entry residual;
};

struct pass {
    const struct cvp_symbol *from;
    const unsigned char *is_input;
    struct cvp_symbol *to;
    int *order, count;
    int *uses, *user; /* by entry: how often it is read or is an output; the last node that does */
    struct cvp_entry *at; /* by entry: what it is in the new symbol */
    int *chain_of;        /* by node: the chain that it is part of, or -1 */
    struct chain *chains; /* room for each node */
    int num_chains;
};

/* ---- finding ------------------------------------------------------------------------------------
 */

static const struct cvp_node *node_at(const struct pass *x, int id)
{
    return x->from->nodes[id];
}

/* The node that alone reads the first output of this one, the others being read by none; -1. */
static int next_of(const struct pass *x, int id)
{
    const struct cvp_node *node = node_at(x, id);
    for (int i = 1; i < node->num_outputs; i++)
        if (x->uses[node->first_entry + i]) return -1;
    return x->uses[node->first_entry] == 1 ? x->user[node->first_entry] : -1;
}

static int is_constant(const struct pass *x, struct cvp_entry e)
{
    return !node_at(x, e.node)->op && !x->is_input[e.node];
}

/* All inputs of the node but the first. */
static int has_constants(const struct pass *x, int id)
{
    const struct cvp_node *node = node_at(x, id);
    for (int i = 1; i < node->num_inputs; i++)
        if (!is_constant(x, node->inputs[i])) return 0;
    return 1;
}

static int is_norm_of(const struct pass *x, int id, int convolution)
{
    const struct cvp_node *node = node_at(x, id), *conv = node_at(x, convolution);
    if (node->op != &cvp_op_BatchNorm || node->inputs[0].node != convolution ||
        !has_constants(x, id) || !has_constants(x, convolution))
        return 0;
    const convop_conv_params *p = conv->params;
    const int ndim = p->kernel.len + 2;
    return cvp_bn_axis(node->params, ndim) ==
           (cvp_conv_params_resolve(p).channels_last ? ndim - 1 : 1);
}

/* The activation that a node is; NONE: none that a convolution computes. */
static convop_conv_activation activation_of(const struct cvp_node *node)
{
    if (node->op == &cvp_op_Activation) {
        const struct activation_params *p = node->params;
        return p->act_type == ACTIVATION_RELU ? CONVOP_ACTIVATION_RELU : CONVOP_ACTIVATION_NONE;
    }
    if (node->op != &cvp_op_clip) return CONVOP_ACTIVATION_NONE;
    const struct clip_params *p = node->params;
    return p->a_min == 0 && p->a_max == 6 ? CONVOP_ACTIVATION_RELU6 : CONVOP_ACTIVATION_NONE;
}

static void find_chain(struct pass *x, int id)
{
    struct chain c = {id, -1, -1, -1, id, CVP_NO_ENTRY};
    int next = next_of(x, id);
    if (next >= 0 && is_norm_of(x, next, id)) {
        c.norm = c.last = next;
        next = next_of(x, next);
    }
    if (next >= 0 && node_at(x, next)->op == &cvp_op_elemwise_add && x->chain_of[next] < 0) {
        const struct cvp_entry *in = node_at(x, next)->inputs;
        c.residual = in[in[0].node == c.last];
        c.add = c.last = next;
        next = next_of(x, next);
    }
    if (next >= 0 && activation_of(node_at(x, next))) c.activation = c.last = next;
    if (c.last == id) return;
    const int members[] = {id, c.norm, c.add, c.activation};
    for (int i = 0; i < 4; i++)
        if (members[i] >= 0) x->chain_of[members[i]] = x->num_chains;
    x->chains[x->num_chains++] = c;
}

static void count_uses(struct pass *x)
{
    for (int i = 0; i < x->count; i++) {
        const struct cvp_node *node = node_at(x, x->order[i]);
        for (int k = 0; node->op && k < node->num_inputs; k++) {
            const int e = cvp_entry_id(x->from, node->inputs[k]);
            x->uses[e]++;
            x->user[e] = x->order[i];
        }
    }
    for (int i = 0; i < x->from->num_outputs; i++)
        x->uses[cvp_entry_id(x->from, x->from->outputs[i])] += 2;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static struct cvp_entry moved(const struct pass *x, struct cvp_entry e)
{
    return x->at[cvp_entry_id(x->from, e)];
}

static void set_outputs(struct pass *x, int id, struct cvp_entry first)
{
    const struct cvp_node *node = node_at(x, id);
    for (int i = 0; i < node->num_outputs; i++)
        x->at[node->first_entry + i] = (struct cvp_entry){first.node, i};
}

static convop_status write_variable(struct pass *x, int id)
{
    struct cvp_entry e;
    CVP_RETURN_IF_ERROR(cvp_symbol_variable(x->to, node_at(x, id)->name, &e));
    x->to->nodes[e.node]->is_auxiliary = node_at(x, id)->is_auxiliary;
    set_outputs(x, id, e);
    return CONVOP_OK;
}

static convop_status write_node(struct pass *x, int id)
{
    const struct cvp_node *node = node_at(x, id);
    struct cvp_entry inputs[CVP_MAX_ARGS], e;
    for (int i = 0; i < node->num_inputs; i++) inputs[i] = moved(x, node->inputs[i]);
    CVP_RETURN_IF_ERROR(cvp_symbol_apply(
        x->to, node->op->name, node->name, node->num_params, (const char *const *)node->keys,
        (const char *const *)node->values, node->num_inputs, inputs, &e));
    set_outputs(x, id, e);
    return CONVOP_OK;
}

/* The node that folds; its outputs are weights and bias. */
static convop_status write_fold(struct pass *x, const struct chain *c, struct cvp_entry *weights,
                                struct cvp_entry *bias)
{
    const struct cvp_node *conv = node_at(x, c->convolution), *norm = node_at(x, c->norm);
    const struct bn_params *p = norm->params;
    const int has_bias = conv->num_inputs > 2;
    struct cvp_entry inputs[6] = {moved(x, conv->inputs[1])}, e;
    char eps[64];
    for (int i = 1; i < 5; i++) inputs[i] = moved(x, norm->inputs[i]);
    if (has_bias) inputs[5] = moved(x, conv->inputs[2]);
    struct cvp_text text = cvp_text_in(eps, sizeof eps);
    cvp_text_add(&text, "%.17g", p->eps);
    const char *const keys[] = {"eps", "fix_gamma", "no_bias"};
    const char *const values[] = {eps, p->fix_gamma ? "True" : "False",
                                  has_bias ? "False" : "True"};
    CVP_RETURN_IF_ERROR(cvp_symbol_apply(x->to, "_fold_BatchNorm", NULL, 3, keys, values,
                                         has_bias ? 6 : 5, inputs, &e));
    *weights = (struct cvp_entry){e.node, 0};
    *bias = (struct cvp_entry){e.node, 1};
    return CONVOP_OK;
}

/* The convolution's parameters with those of what follows. keys has room for two more. */
static convop_status apply(struct pass *x, const struct chain *c, int num_inputs,
                           const struct cvp_entry *inputs, const char **keys)
{
    const struct cvp_node *conv = node_at(x, c->convolution);
    const char **values = keys + conv->num_params + 2;
    size_t n = 0;
    for (size_t i = 0; i < conv->num_params; i++) {
        if (c->norm >= 0 && strcmp(conv->keys[i], "no_bias") == 0) continue;
        keys[n] = conv->keys[i];
        values[n++] = conv->values[i];
    }
    if (c->norm >= 0) {
        keys[n] = "no_bias";
        values[n++] = "False";
    }
    keys[n] = "activation";
    values[n++] = cvp_conv_activation_name(
        c->activation >= 0 ? activation_of(node_at(x, c->activation)) : CONVOP_ACTIVATION_NONE);
    struct cvp_entry e;
    CVP_RETURN_IF_ERROR(
        cvp_symbol_apply(x->to, c->add >= 0 ? "FusedConvolutionAdd" : "FusedConvolution",
                         node_at(x, c->last)->name, n, keys, values, num_inputs, inputs, &e));
    set_outputs(x, c->last, e);
    return CONVOP_OK;
}

static convop_status write_chain(struct pass *x, const struct chain *c)
{
    const struct cvp_node *conv = node_at(x, c->convolution);
    struct cvp_entry inputs[4], weights = moved(x, conv->inputs[1]), bias = CVP_NO_ENTRY;
    int n = 0;
    if (conv->num_inputs > 2) bias = moved(x, conv->inputs[2]);
    if (c->norm >= 0) CVP_RETURN_IF_ERROR(write_fold(x, c, &weights, &bias));
    inputs[n++] = moved(x, conv->inputs[0]);
    if (c->add >= 0) inputs[n++] = moved(x, c->residual);
    inputs[n++] = weights;
    if (bias.node >= 0) inputs[n++] = bias;
    const char **keys = cvp_malloc(2 * (conv->num_params + 2) * sizeof *keys);
    if (!keys) return convop_fail(CONVOP_E_NO_MEMORY, "graph: no memory for a fused node");
    convop_status status = apply(x, c, n, inputs, keys);
    cvp_free(keys);
    return status;
}

static convop_status write_all(struct pass *x)
{
    for (int i = 0; i < x->from->num_nodes; i++)
        if (!node_at(x, i)->op) CVP_RETURN_IF_ERROR(write_variable(x, i));
    for (int i = 0; i < x->count; i++) {
        const int id = x->order[i], chain = x->chain_of[id];
        if (!node_at(x, id)->op) continue;
        if (chain < 0)
            CVP_RETURN_IF_ERROR(write_node(x, id));
        else if (x->chains[chain].last == id)
            CVP_RETURN_IF_ERROR(write_chain(x, &x->chains[chain]));
    }
    for (int i = 0; i < x->from->num_outputs; i++)
        CVP_RETURN_IF_ERROR(cvp_symbol_output(x->to, moved(x, x->from->outputs[i])));
    return CONVOP_OK;
}

static convop_status run(struct pass *x)
{
    CVP_RETURN_IF_ERROR(cvp_symbol_order(x->from, x->order, &x->count));
    count_uses(x);
    for (int i = 0; i < x->count; i++)
        if (node_at(x, x->order[i])->op == &cvp_op_Convolution) find_chain(x, x->order[i]);
    CVP_RETURN_IF_ERROR(cvp_symbol_create(&x->to));
    return write_all(x);
}

convop_status cvp_symbol_fuse(const struct cvp_symbol *symbol, const unsigned char *is_input,
                              struct cvp_symbol **out)
{
    const size_t nodes = (size_t)symbol->num_nodes, entries = (size_t)symbol->num_entries;
    struct pass x = {.from = symbol, .is_input = is_input};
    x.chains = cvp_calloc(nodes + 1, sizeof *x.chains);
    x.order = cvp_calloc(2 * (nodes + entries) + 1, sizeof *x.order);
    x.at = cvp_calloc(entries + 1, sizeof *x.at);
    convop_status status = CONVOP_E_NO_MEMORY;
    if (x.chains && x.order && x.at) {
        x.chain_of = x.order + nodes;
        x.uses = x.chain_of + nodes;
        x.user = x.uses + entries;
        for (size_t i = 0; i < nodes; i++) x.chain_of[i] = -1;
        status = run(&x);
    } else {
        convop_fail(status, "graph: no memory to fuse %zu nodes", nodes);
    }
    if (status != CONVOP_OK) cvp_symbol_release(&x.to);
    cvp_free(x.chains);
    cvp_free(x.order);
    cvp_free(x.at);
    *out = x.to;
    return status;
}
