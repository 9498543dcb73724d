/* Binding: everything that is decided, allocated and prepared once for many runs. */
#include <limits.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/graph/executor_internal.h"
#include "src/graph/fuse.h"
#include "src/graph/gradient.h"

/* ---- what the caller says ------------------------------------------------------------------- */

static convop_status find_variable(const struct cvp_symbol *symbol, const char *name, int *node)
{
    *node = name ? cvp_symbol_find(symbol, name) : -1;
    if (*node >= 0 && !symbol->nodes[*node]->op) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "executor: %s is no variable of the symbol",
                       name ? name : "NULL");
}

static convop_status read_inputs(const struct cvp_symbol *symbol, const struct cvp_bind_options *o,
                                 convop_shape *shapes, DLDataType *types, unsigned char *is_input)
{
    for (int i = 0; i < symbol->num_entries; i++) shapes[i].ndim = -1;
    for (size_t i = 0; i < o->num_inputs; i++) {
        const struct cvp_bind_input *input = &o->inputs[i];
        int node;
        CVP_RETURN_IF_ERROR(find_variable(symbol, input->name, &node));
        if (is_input[node])
            return convop_fail(CONVOP_E_INVALID, "executor: input %s is given twice", input->name);
        is_input[node] = 1;
        shapes[symbol->nodes[node]->first_entry] = input->shape;
        types[symbol->nodes[node]->first_entry] = input->dtype;
    }
    return CONVOP_OK;
}

static convop_status check_request(const char *name, convop_request request)
{
    if (request == CONVOP_REQ_NULL || request == CONVOP_REQ_WRITE || request == CONVOP_REQ_ADD)
        return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID,
                       "executor: request %d for the gradient by %s, allowed are 0 (null), 1 "
                       "(write) and 3 (add)",
                       (int)request, name);
}

static convop_status read_requests(const struct cvp_symbol *symbol,
                                   const struct cvp_bind_options *o, const unsigned char *is_input,
                                   struct cvp_want *wants)
{
    CVP_RETURN_IF_ERROR(check_request("all arguments", o->request));
    for (int i = 0; i < symbol->num_nodes; i++)
        if (!symbol->nodes[i]->op && !is_input[i])
            wants[i] = (struct cvp_want){.request = o->request, .only_if_reached = 1};
    for (size_t i = 0; i < o->num_requests; i++) {
        const char *name = o->requests[i].name;
        int node;
        CVP_RETURN_IF_ERROR(find_variable(symbol, name, &node));
        CVP_RETURN_IF_ERROR(check_request(name, o->requests[i].request));
        if (symbol->nodes[node]->is_auxiliary && o->requests[i].request != CONVOP_REQ_NULL)
            return convop_fail(CONVOP_E_INVALID,
                               "executor: %s is an auxiliary state and has no gradient", name);
        wants[node] = (struct cvp_want){.request = o->requests[i].request};
    }
    return CONVOP_OK;
}

/* ---- the lists ------------------------------------------------------------------------------ */

static convop_status list_bound(struct cvp_executor *x, const struct cvp_want *wants,
                                const unsigned char *is_input)
{
    const struct cvp_program *p = &x->program;
    x->bound = cvp_calloc((size_t)p->num_ordered + 1, sizeof *x->bound);
    if (!x->bound) return cvp_executor_no_memory("the list of arguments", sizeof *x->bound);
    int count = 0;
    for (int auxiliary = 0; auxiliary < 2; auxiliary++) {
        for (int i = 0; i < p->num_ordered; i++) {
            const int id = p->order[i];
            const struct cvp_node *node = p->symbol->nodes[id];
            if (node->op || node->is_auxiliary != auxiliary) continue;
            const int gradient = p->gradients[id];
            x->bound[count++] = (struct cvp_bound){
                .name = node->name,
                .value = &x->tensors[node->first_entry].tensor,
                .gradient = gradient >= 0 ? &x->tensors[gradient].tensor : NULL,
                .request = gradient >= 0 ? wants[id].request : CONVOP_REQ_NULL,
                .is_input = is_input[id],
            };
        }
        *(auxiliary ? &x->num_auxiliary : &x->num_arguments) = count;
    }
    x->num_auxiliary -= x->num_arguments;
    return CONVOP_OK;
}

/* ---- bind ----------------------------------------------------------------------------------- */

/* What is needed only while binding, by node or by entry, in one block. */
struct scratch {
    convop_shape *shapes;
    DLDataType *types;
    struct cvp_want *wants;
    unsigned char *is_input;
};

static convop_status fill(struct cvp_executor *x, const struct cvp_bind_options *o,
                          struct scratch *scratch)
{
    CVP_RETURN_IF_ERROR(
        read_inputs(x->symbol, o, scratch->shapes, scratch->types, scratch->is_input));
    CVP_RETURN_IF_ERROR(read_requests(x->symbol, o, scratch->is_input, scratch->wants));
    CVP_RETURN_IF_ERROR(cvp_context_get(o->context, &x->context));
    x->engine = o->engine;
    if (!x->engine) {
        convop_engine_options naive = CONVOP_ENGINE_OPTIONS_INIT;
        naive.kind = CONVOP_ENGINE_NAIVE;
        CVP_RETURN_IF_ERROR(convop_engine_create(&naive, &x->engine));
        x->owns_engine = 1;
    }
    CVP_RETURN_IF_ERROR(cvp_program_init(&x->program, x->symbol, scratch->shapes, scratch->types));
    if (o->for_inference)
        CVP_RETURN_IF_ERROR(cvp_program_set_constants(&x->program, scratch->is_input));
    CVP_RETURN_IF_ERROR(cvp_program_differentiate(&x->program, scratch->wants));
    CVP_RETURN_IF_ERROR(cvp_memory_plan_init(&x->plan, &x->program, !o->no_reuse));
    CVP_RETURN_IF_ERROR(cvp_executor_set_tensors(x));
    CVP_RETURN_IF_ERROR(cvp_executor_allocate(x));
    CVP_RETURN_IF_ERROR(cvp_executor_prepare(x));
    CVP_RETURN_IF_ERROR(cvp_executor_allocate_lanes(x));
    CVP_RETURN_IF_ERROR(cvp_executor_create_tasks(x));
    return list_bound(x, scratch->wants, scratch->is_input);
}

static int wants_gradients(const struct cvp_bind_options *o)
{
    int wants = o->request != CONVOP_REQ_NULL;
    for (size_t i = 0; i < o->num_requests; i++) wants |= o->requests[i].request != CONVOP_REQ_NULL;
    return wants;
}

/* The symbol that is bound: the caller's, or that one fused. */
static convop_status take_symbol(struct cvp_symbol *symbol, const struct cvp_bind_options *o,
                                 struct cvp_symbol **out)
{
    *out = NULL;
    if (symbol->num_outputs == 0)
        return convop_fail(CONVOP_E_INVALID, "executor: the symbol has no output");
    if (o->for_inference && wants_gradients(o))
        return convop_fail(CONVOP_E_INVALID,
                           "executor: gradients are asked for of one that is for inference");
    if (!o->for_inference || o->no_fuse) {
        *out = cvp_symbol_retain(symbol);
        return CONVOP_OK;
    }
    unsigned char *is_input = cvp_calloc((size_t)symbol->num_nodes + 1, 1);
    if (!is_input) return cvp_executor_no_memory("its inputs", (size_t)symbol->num_nodes);
    for (size_t i = 0; i < o->num_inputs; i++) {
        const int node = o->inputs[i].name ? cvp_symbol_find(symbol, o->inputs[i].name) : -1;
        if (node >= 0) is_input[node] = 1;
    }
    convop_status status = cvp_symbol_fuse(symbol, is_input, out);
    cvp_free(is_input);
    return status;
}

convop_status cvp_executor_bind(struct cvp_symbol *symbol, const struct cvp_bind_options *options,
                                struct cvp_executor **out)
{
    struct cvp_symbol *bound;
    *out = NULL;
    CVP_RETURN_IF_ERROR(take_symbol(symbol, options, &bound));
    const size_t entries = (size_t)bound->num_entries + 1;
    struct cvp_executor *x = cvp_calloc(1, sizeof *x);
    struct scratch s = {
        .shapes = cvp_calloc(entries, sizeof *s.shapes + sizeof *s.types + sizeof *s.wants + 1)};
    if (!x || !s.shapes) {
        cvp_free(x);
        cvp_free(s.shapes);
        cvp_symbol_release(&bound);
        return cvp_executor_no_memory("its graph", entries * sizeof *s.shapes);
    }
    /* Nodes are no more than entries. */
    s.types = (DLDataType *)(s.shapes + entries);
    s.wants = (struct cvp_want *)(s.types + entries);
    s.is_input = (unsigned char *)(s.wants + entries);
    x->symbol = bound;
    x->for_inference = options->for_inference;
    pthread_mutex_init(&x->lock, NULL);
    atomic_init(&x->failed, INT_MAX);
    convop_status status = fill(x, options, &s);
    cvp_free(s.shapes);
    if (status != CONVOP_OK) cvp_executor_destroy(&x);
    *out = x;
    return status;
}

static void delete_vars(struct cvp_executor *x)
{
    /* In a forked child the engine refuses, and frees them with itself. */
    for (int v = 0; x->vars && v < x->program.num_values; v++)
        if (x->vars[v] && x->plan.place[v] < 0) (void)convop_var_delete(x->engine, &x->vars[v]);
    for (int i = 0; x->vars && i < x->plan.num_places; i++)
        if (x->place_vars[i]) (void)convop_var_delete(x->engine, &x->place_vars[i]);
    for (int i = 0; i < x->num_lanes; i++)
        if (x->lanes[i].var) (void)convop_var_delete(x->engine, &x->lanes[i].var);
    if (x->done) (void)convop_var_delete(x->engine, &x->done);
}

void cvp_executor_destroy(struct cvp_executor **executor)
{
    if (!executor || !*executor) return;
    struct cvp_executor *x = *executor;
    *executor = NULL;
    for (int i = 0; x->steps && i < x->program.num_steps; i++) {
        struct cvp_executor_step *s = &x->steps[i];
        if (s->task) cvp_prepared_destroy(&s->task);
        if (s->is_planned && s->call.op->end) s->call.op->end(s->plan);
        cvp_free(s->plan);
    }
    if (x->finish) cvp_prepared_destroy(&x->finish);
    if (x->engine) delete_vars(x);
    if (x->owns_engine) convop_engine_destroy(&x->engine);
    for (int i = 0; i < x->num_lanes; i++)
        if (x->lanes[i].memory)
            cvp_buffer_free(&x->context->allocator, x->lanes[i].memory, x->lanes[i].bytes);
    if (x->arena) cvp_buffer_free(&x->context->allocator, x->arena, x->plan.bytes);
    if (x->fixed) cvp_buffer_free(&x->context->allocator, x->fixed, x->fixed_bytes);
    cvp_free(x->steps);
    cvp_free(x->vars);
    cvp_free(x->tensors);
    cvp_free(x->bound);
    cvp_memory_plan_free(&x->plan);
    cvp_program_free(&x->program);
    cvp_symbol_release(&x->symbol);
    pthread_mutex_destroy(&x->lock);
    cvp_free(x);
}
