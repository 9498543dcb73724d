/* Weights that stay the same over many runs of a plan: copied and packed once, kept with the plan.
 */
#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/convolution/plan.h"

static convop_status no_memory(size_t bytes)
{
    return convop_fail(CONVOP_E_NO_MEMORY,
                       "Convolution: no memory for %zu bytes of prepared weights", bytes);
}

convop_status cvp_conv_plan_prepare(struct conv_plan *plan, const void *weights)
{
    const convop_conv_impl *impl = plan->impl;
    const convop_allocator *memory = &plan->context->allocator;
    size_t packed_bytes = impl->packed_bytes ? impl->packed_bytes(&plan->problem) : 0;
    size_t copy_bytes =
        cvp_conv_is_copied(plan, CONV_WEIGHTS) ? cvp_conv_copy_bytes(plan, CONV_WEIGHTS) : 0;
    if (!packed_bytes && !copy_bytes) return CONVOP_OK;

    void *compact = NULL, *packed = NULL;
    if (copy_bytes) {
        compact = cvp_buffer_alloc(memory, copy_bytes);
        if (!compact) return no_memory(copy_bytes);
        cvp_conv_gather(plan, CONV_WEIGHTS, plan->context, compact, weights);
    }
    if (!packed_bytes) {
        plan->prepared = compact;
        plan->prepared_bytes = copy_bytes;
        return CONVOP_OK;
    }
    packed = cvp_buffer_alloc(memory, packed_bytes);
    if (packed) impl->pack(&plan->problem, compact ? compact : weights, packed, plan->context);
    if (compact) cvp_buffer_free(memory, compact, copy_bytes);
    if (!packed) return no_memory(packed_bytes);
    plan->prepared = packed;
    plan->prepared_bytes = packed_bytes;
    plan->is_packed = 1;
    return CONVOP_OK;
}

void cvp_conv_plan_unprepare(struct conv_plan *plan)
{
    if (plan->prepared)
        cvp_buffer_free(&plan->context->allocator, plan->prepared, plan->prepared_bytes);
    plan->prepared = NULL;
    plan->prepared_bytes = 0;
    plan->is_packed = 0;
}
