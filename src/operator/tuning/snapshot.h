/* A snapshot of what is known, as lines. */
#ifndef CVP_TUNING_SNAPSHOT_H
#define CVP_TUNING_SNAPSHOT_H

#include "src/operator/tuning/filter.h"
#include "src/operator/tuning/index.h"

struct cvp_tune_entry {
    struct cvp_tune_record *record;
    int is_system;
};

/* Records of this process and its file, and, if `system`, those of the system that they do not
 * hide; sorted. Each holds a reference to its batch. */
struct cvp_tune_snapshot {
    size_t count;
    struct cvp_tune_entry *at;
};

/* NO_MEMORY, with the text set. */
convop_status cvp_tune_snapshot_take(struct cvp_tune_snapshot *s, const char *caller,
                                     const struct cvp_tune_filter *filter, int system);
void cvp_tune_snapshot_release(struct cvp_tune_snapshot *s);

#endif
