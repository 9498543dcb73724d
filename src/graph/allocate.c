/* The memory of an executor: one block for what the caller sees, the arena of the plan, and scratch
 * for each lane. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/graph/basic.h"
#include "src/graph/executor_internal.h"

convop_status cvp_executor_no_memory(const char *what, size_t bytes)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "executor: no memory for %zu bytes of %s", bytes, what);
}

convop_status cvp_executor_set_tensors(struct cvp_executor *x)
{
    const struct cvp_program *p = &x->program;
    x->tensors = cvp_calloc((size_t)p->num_values + 1, sizeof *x->tensors);
    if (!x->tensors) return cvp_executor_no_memory("tensors", sizeof *x->tensors);
    for (int v = 0; v < p->num_values; v++) {
        const int entry = p->values[v].entry;
        struct cvp_tensor *t = &x->tensors[v];
        if (entry < 0) continue;
        t->tensor.ndim = p->shapes[entry].ndim;
        memcpy(t->shape, p->shapes[entry].dim, (size_t)t->tensor.ndim * sizeof *t->shape);
        t->tensor.shape = t->shape;
        t->tensor.dtype = p->types[entry];
        t->tensor.device.device_type = kDLCPU;
    }
    return CONVOP_OK;
}

/* Gives fixed values their offsets; the sum goes to fixed_bytes. */
static convop_status lay_out_fixed(struct cvp_executor *x, size_t *offsets)
{
    const struct cvp_program *p = &x->program;
    for (int v = 0; v < p->num_values; v++) {
        if (p->values[v].entry < 0 || !cvp_value_is_fixed(&p->values[v])) continue;
        offsets[v] = x->fixed_bytes;
        size_t end;
        if (!cvp_add_size(x->fixed_bytes, p->values[v].bytes ? p->values[v].bytes : 1, &end) ||
            !cvp_add_size(end, CVP_BUFFER_ALIGN - 1, &x->fixed_bytes))
            return convop_fail(CONVOP_E_INVALID,
                               "executor: the arguments together have more bytes than 64 bits can "
                               "count");
        x->fixed_bytes = cvp_round_up(end, CVP_BUFFER_ALIGN);
    }
    return CONVOP_OK;
}

convop_status cvp_executor_allocate(struct cvp_executor *x)
{
    const struct cvp_program *p = &x->program;
    size_t *offsets = cvp_calloc((size_t)p->num_values + 1, sizeof *offsets);
    if (!offsets) return cvp_executor_no_memory("offsets", sizeof *offsets);
    convop_status status = lay_out_fixed(x, offsets);
    if (status == CONVOP_OK) {
        x->fixed = cvp_buffer_alloc(&x->context->allocator, x->fixed_bytes);
        if (!x->fixed) status = cvp_executor_no_memory("arguments and gradients", x->fixed_bytes);
    }
    if (status == CONVOP_OK) {
        x->arena = cvp_buffer_alloc(&x->context->allocator, x->plan.bytes);
        if (!x->arena) status = cvp_executor_no_memory("results", x->plan.bytes);
    }
    if (status == CONVOP_OK && x->fixed_bytes) memset(x->fixed, 0, x->fixed_bytes);
    for (int v = 0; v < p->num_values && status == CONVOP_OK; v++) {
        const int place = x->plan.place[v];
        if (place >= 0)
            x->tensors[v].tensor.data = (char *)x->arena + x->plan.offset[place];
        else if (p->values[v].entry >= 0 && cvp_value_is_fixed(&p->values[v]))
            x->tensors[v].tensor.data = (char *)x->fixed + offsets[v];
        if (p->values[v].kind == CVP_VALUE_HEAD)
            status = cvp_graph_fill_ones(&x->tensors[v].tensor);
    }
    cvp_free(offsets);
    return status;
}

convop_status cvp_executor_allocate_lanes(struct cvp_executor *x)
{
    int next = 0;
    x->num_lanes = cvp_engine_num_workers(x->engine);
    if (x->num_lanes > CVP_MAX_SCRATCH_LANES) x->num_lanes = CVP_MAX_SCRATCH_LANES;
    for (int i = 0; i < x->program.num_steps; i++) {
        struct cvp_executor_step *s = &x->steps[i];
        /* Those for inference are planned again, and may then want some. */
        if (!s->workspace_bytes && !x->for_inference) continue;
        s->lane = next;
        next = (next + 1) % x->num_lanes;
        if (x->lanes[s->lane].bytes < s->workspace_bytes)
            x->lanes[s->lane].bytes = s->workspace_bytes;
    }
    for (int i = 0; i < x->num_lanes; i++) {
        struct cvp_scratch_lane *lane = &x->lanes[i];
        if (!lane->bytes) continue;
        lane->memory = cvp_buffer_alloc(&x->context->allocator, lane->bytes);
        if (!lane->memory) return cvp_executor_no_memory("workspace", lane->bytes);
    }
    return CONVOP_OK;
}
