/* Writing a file anew without what nobody needs. */
#ifndef CVP_TUNING_COMPACT_H
#define CVP_TUNING_COMPACT_H

#include "src/operator/tuning/file.h"
#include "src/operator/tuning/filter.h"

/* Drops what is bad, superseded or meant by `forget`; comments and lines of newer kinds stay, in
 * their order. forget NULL: only if at least half of the lines would go, and only under the lock.
 * A file that is not there, or not ours, is left alone. IO, NO_MEMORY */
convop_status cvp_tune_compact(const char *path, const struct cvp_tune_filter *forget,
                               char why[CVP_TUNE_WHY]);

#endif
