/* Which records a convop_tune_filter means. */
#ifndef CVP_TUNING_FILTER_H
#define CVP_TUNING_FILTER_H

#include "src/operator/tuning/record.h"

struct cvp_tune_filter {
    int all;
    convop_tune_filter of;
    char own[CVP_TUNE_IDENTITY]; /* cvp_tune_identity, for `foreign` */
};

/* filter NULL: all. INVALID: a struct of a wrong size. Asks who makes keys what this machine is. */
convop_status cvp_tune_filter_init(struct cvp_tune_filter *f, const char *caller,
                                   const convop_tune_filter *filter);

/* 1 if it means the record of this CVP_TUNE_CHOICE. */
int cvp_tune_filter_takes(const struct cvp_tune_filter *f, const char *line, size_t length);

#endif
