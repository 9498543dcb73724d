/* The stages' clocks. Totals are in nanoseconds, added to without a lock: each is right, a reading
 * of several is not of one moment. */
#include "src/common/stage.h"

#include <string.h>
#include <time.h>

#include "src/common/status.h"

static const char *const names[CONVOP_STAGE_COUNT] = {
    [CONVOP_STAGE_CALL] = "call",       [CONVOP_STAGE_PLAN] = "plan",
    [CONVOP_STAGE_COPY] = "copy",       [CONVOP_STAGE_THREADS] = "threads",
    [CONVOP_STAGE_KERNEL] = "kernel",   [CONVOP_STAGE_LOWERING] = "lowering",
    [CONVOP_STAGE_PACKING] = "packing", [CONVOP_STAGE_PRODUCT] = "product",
};

atomic_int cvp_stages_on;

/* Counts the collections: what a thread was in during an earlier one says nothing. */
static atomic_uint collection;

static struct {
    _Atomic uint64_t ns, count;
} totals[CONVOP_STAGE_COUNT];

static _Thread_local struct {
    unsigned collection; /* in which the rest was set */
    int stage;
    uint64_t since; /* ns */
} now;

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cvp_stage_change(int stage, int begin)
{
    uint64_t time = clock_ns();
    unsigned current = atomic_load_explicit(&collection, memory_order_relaxed);
    int outer = now.collection == current ? now.stage : CVP_STAGE_NONE;
    if (outer != CVP_STAGE_NONE)
        atomic_fetch_add_explicit(&totals[outer].ns, time - now.since, memory_order_relaxed);
    if (begin && stage != CVP_STAGE_NONE)
        atomic_fetch_add_explicit(&totals[stage].count, 1, memory_order_relaxed);
    now.collection = current;
    now.stage = stage;
    now.since = time;
    return outer;
}

void convop_stages_collect(int on)
{
    if (on) {
        /* Counted before it is on, so that none begins as the one before it. */
        if (atomic_load(&cvp_stages_on) == 0) atomic_fetch_add(&collection, 1);
        atomic_fetch_add(&cvp_stages_on, 1);
        return;
    }
    /* One end too many ends nothing. */
    int was = atomic_load(&cvp_stages_on);
    while (was > 0 && !atomic_compare_exchange_weak(&cvp_stages_on, &was, was - 1)) {
    }
}

convop_status convop_stage_read(convop_stage stage, convop_stage_time *time)
{
    if ((unsigned)stage >= CONVOP_STAGE_COUNT)
        return convop_fail(CONVOP_E_INVALID, "convop_stage_read: stage %d, allowed is 0..%d",
                           (int)stage, CONVOP_STAGE_COUNT - 1);
    if (!time || time->struct_size < sizeof *time)
        return convop_fail(CONVOP_E_INVALID, "convop_stage_read: time is %s",
                           time ? "smaller than convop_stage_time" : "NULL");
    time->name = names[stage];
    time->ms = (double)atomic_load_explicit(&totals[stage].ns, memory_order_relaxed) * 1e-6;
    time->count = atomic_load_explicit(&totals[stage].count, memory_order_relaxed);
    return CONVOP_OK;
}
