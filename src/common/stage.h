/* Marks of the stages of a call: convop/stages.h.
 *
 *     int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
 *     ...
 *     cvp_stage_leave(outer);
 */
#ifndef CVP_COMMON_STAGE_H
#define CVP_COMMON_STAGE_H

#include <stdatomic.h>

#include "convop/stages.h"

/* Threads that compute nothing for a call, and all while nothing is collected. */
#define CVP_STAGE_NONE (-1)

extern atomic_int cvp_stages_on; /* how many collect */

/* Charges this thread's time to the stage it is in, and changes to another; answers the former.
 * `begin` counts the new one. */
int cvp_stage_change(int stage, int begin);

static inline int cvp_stage_enter(int stage)
{
    if (!atomic_load_explicit(&cvp_stages_on, memory_order_relaxed)) return CVP_STAGE_NONE;
    return cvp_stage_change(stage, 1);
}

static inline void cvp_stage_leave(int outer)
{
    if (atomic_load_explicit(&cvp_stages_on, memory_order_relaxed)) cvp_stage_change(outer, 0);
}

#endif
