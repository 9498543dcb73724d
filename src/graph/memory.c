/* See memory.h. Greedy: of the places that are free, the smallest that is large enough; else the
 * largest, which grows; else a new one. The technique is best fit over liveness in the order of
 * execution, as in Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost",
 * 2016, section 3. */
#include "src/graph/memory.h"

#include <limits.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/common/tensor.h"

struct pass {
    struct cvp_memory_plan *plan;
    struct cvp_program *p;
    int *last;           /* by value: the last step that touches it; INT_MAX for outputs */
    unsigned char *free; /* by place */
    int reuse;
};

static int is_placed_value(const struct pass *x, int value)
{
    return value >= 0 && !cvp_value_is_fixed(&x->p->values[value]);
}

static void find_last_uses(struct pass *x)
{
    for (int v = 0; v < x->p->num_values; v++) x->last[v] = -1;
    for (int s = 0; s < x->p->num_steps; s++) {
        const struct cvp_step *step = &x->p->steps[s];
        for (int i = 0; i < step->num_inputs; i++) x->last[step->inputs[i]] = s;
        for (int i = 0; i < step->num_outputs; i++)
            if (step->outputs[i] >= 0) x->last[step->outputs[i]] = s;
    }
    for (int v = 0; v < x->p->num_values; v++)
        if (x->p->values[v].is_output) x->last[v] = INT_MAX;
}

/* Sizes in whole lines, at least one, so that every value has an address of its own. */
static int size_of(const struct pass *x, int value, size_t *size)
{
    size_t bytes = x->p->values[value].bytes ? x->p->values[value].bytes : 1;
    if (!cvp_add_size(bytes, CVP_BUFFER_ALIGN - 1, size)) return 0;
    *size = cvp_round_up(bytes, CVP_BUFFER_ALIGN);
    return 1;
}

static int choose_place(struct pass *x, size_t size)
{
    struct cvp_memory_plan *plan = x->plan;
    int best = -1;
    for (int i = 0; i < plan->num_places; i++) {
        if (!x->free[i]) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        const size_t have = plan->size[i], other = plan->size[best];
        if (have >= size ? other < size || have < other : other < size && have > other) best = i;
    }
    if (best < 0) best = plan->num_places++;
    if (plan->size[best] < size) plan->size[best] = size;
    x->free[best] = 0;
    return best;
}

static int same_tensor(const struct pass *x, int a, int b)
{
    const struct cvp_program *p = x->p;
    const int ea = p->values[a].entry, eb = p->values[b].entry;
    const convop_shape *s = &p->shapes[ea], *t = &p->shapes[eb];
    if (p->values[a].bytes != p->values[b].bytes || s->ndim != t->ndim ||
        !cvp_dtype_equal(p->types[ea], p->types[eb]))
        return 0;
    for (int i = 0; i < s->ndim; i++)
        if (s->dim[i] != t->dim[i]) return 0;
    return 1;
}

/* 1 if output i of step s may take the place of its input j. */
static int may_overwrite(const struct pass *x, int s, int i, int j)
{
    const struct cvp_step *step = &x->p->steps[s];
    if (j >= step->num_inputs || step->requests[i] != CONVOP_REQ_WRITE) return 0;
    const int from = step->inputs[j], to = step->outputs[i];
    if (!is_placed_value(x, from) || x->last[from] != s || !same_tensor(x, from, to)) return 0;
    for (int k = 0; k < step->num_inputs; k++)
        if (k != j && step->inputs[k] == from) return 0;
    for (int k = 0; k < step->num_outputs; k++)
        if (k != i && step->outputs[k] >= 0 &&
            x->plan->place[step->outputs[k]] == x->plan->place[from])
            return 0;
    return 1;
}

static void place_inplace(struct pass *x, int s, int i)
{
    struct cvp_step *step = &x->p->steps[s];
    for (size_t k = 0; k < step->op->num_inplace && x->reuse; k++) {
        const convop_inplace pair = step->op->inplace[k];
        if (pair.output != i || !may_overwrite(x, s, i, pair.input)) continue;
        x->plan->place[step->outputs[i]] = x->plan->place[step->inputs[pair.input]];
        step->requests[i] = CONVOP_REQ_INPLACE;
        return;
    }
}

static convop_status place_outputs(struct pass *x, int s)
{
    const struct cvp_step *step = &x->p->steps[s];
    for (int i = 0; i < step->num_outputs; i++) {
        const int v = step->outputs[i];
        size_t size;
        if (!is_placed_value(x, v) || x->plan->place[v] >= 0) continue;
        if (!size_of(x, v, &size) ||
            !cvp_add_size(x->plan->bytes_unshared, size, &x->plan->bytes_unshared))
            return convop_fail(CONVOP_E_INVALID,
                               "graph: its values together have more bytes than 64 bits can count");
        place_inplace(x, s, i);
        if (x->plan->place[v] < 0) x->plan->place[v] = choose_place(x, size);
    }
    return CONVOP_OK;
}

/* Gives up what dies with step s, but for places that an output has taken over. */
static void release(struct pass *x, int s, int value)
{
    const struct cvp_step *step = &x->p->steps[s];
    if (!x->reuse || !is_placed_value(x, value) || x->last[value] != s) return;
    const int place = x->plan->place[value];
    for (int i = 0; i < step->num_outputs; i++) {
        const int out = step->outputs[i];
        if (out >= 0 && out != value && x->plan->place[out] == place && x->last[out] != s) return;
    }
    x->free[place] = 1;
}

static convop_status place_all(struct pass *x)
{
    for (int s = 0; s < x->p->num_steps; s++) {
        const struct cvp_step *step = &x->p->steps[s];
        CVP_RETURN_IF_ERROR(place_outputs(x, s));
        for (int i = 0; i < step->num_inputs; i++) release(x, s, step->inputs[i]);
        for (int i = 0; i < step->num_outputs; i++) release(x, s, step->outputs[i]);
    }
    struct cvp_memory_plan *plan = x->plan;
    for (int i = 0; i < plan->num_places; i++) {
        plan->offset[i] = plan->bytes;
        plan->bytes += plan->size[i]; /* no more than bytes_unshared, which has not overflowed */
    }
    return CONVOP_OK;
}

convop_status cvp_memory_plan_init(struct cvp_memory_plan *plan, struct cvp_program *program,
                                   int reuse)
{
    *plan = (struct cvp_memory_plan){0};
    const size_t n = (size_t)program->num_values;
    struct pass x = {.plan = plan, .p = program, .reuse = reuse};
    plan->place = cvp_malloc((n + 1) * sizeof *plan->place);
    plan->offset = cvp_calloc(n + 1, sizeof *plan->offset);
    plan->size = cvp_calloc(n + 1, sizeof *plan->size);
    x.last = cvp_calloc(n + 1, sizeof *x.last + 1);
    if (!plan->place || !plan->offset || !plan->size || !x.last) {
        cvp_free(x.last);
        return convop_fail(CONVOP_E_NO_MEMORY, "graph: no memory to plan %zu values", n);
    }
    x.free = (unsigned char *)(x.last + n + 1);
    for (size_t v = 0; v < n; v++) plan->place[v] = -1;
    find_last_uses(&x);
    convop_status status = place_all(&x);
    cvp_free(x.last);
    return status;
}

void cvp_memory_plan_free(struct cvp_memory_plan *plan)
{
    cvp_free(plan->place);
    cvp_free(plan->offset);
    cvp_free(plan->size);
    *plan = (struct cvp_memory_plan){0};
}
