/* Where the time of calls goes: a thread of the library is in one stage at a time, and its time is
 * charged to that stage.
 *
 * Off unless asked for; then each change of the stage costs one relaxed load. While on, it also
 * costs a reading of the clock and an addition, some 50 nanoseconds. Since 0.1. */
#ifndef CONVOP_STAGES_H
#define CONVOP_STAGES_H

#include "convop/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum convop_stage {
    CONVOP_STAGE_CALL = 0, /* checks, inference, workspace: what no other stage has */
    CONVOP_STAGE_PLAN = 1, /* choosing the row */
    CONVOP_STAGE_COPY = 2, /* tensors with gaps or of 16-bit types, to and from compact float32 */
    CONVOP_STAGE_THREADS = 3,  /* starting a parallel loop, and waiting for its last thread */
    CONVOP_STAGE_KERNEL = 4,   /* the row's own computing, but for the stages below */
    CONVOP_STAGE_LOWERING = 5, /* the image into the order in which a row computes (columns of a
                                  matrix, panels, transforms), and back */
    CONVOP_STAGE_PACKING = 6,  /* weights into the order in which a kernel reads them */
    CONVOP_STAGE_PRODUCT = 7,  /* matrix multiplication */
    CONVOP_STAGE_COUNT = 8
} convop_stage;

/** What one stage has taken since the process began, all threads together. */
typedef struct convop_stage_time {
    size_t struct_size;
    const char *name; /* "lowering" */
    double ms;        /* of all threads: on n threads up to n times what the clock shows */
    uint64_t count;   /* how often it was entered */
} convop_stage_time;

/** Starts (1) or ends (0) the collection, for all threads of the process. Starts count: it ends
 * with as many ends. A call that is under way is charged from its next stage on. Thread-safe. Since
 * 0.1.
 */
CONVOP_API void convop_stages_collect(int on);

/** Reads the total of a stage; what a call took is the difference of two readings.
 * time->struct_size is set by the caller.
 *  @return INVALID for a stage or a struct_size that there is none of. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_stage_read(convop_stage stage, convop_stage_time *time);

#ifdef __cplusplus
}
#endif

#endif
