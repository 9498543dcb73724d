/* A host that keeps records itself: convop_tune_callbacks. */
#ifndef CVP_TUNING_HOST_H
#define CVP_TUNING_HOST_H

#include "src/operator/tuning/tuning.h"

/* 1 if callbacks are set: no file is written then. */
int cvp_tune_host_keeps(void);

/* 1: the host has it. */
int cvp_tune_host_lookup(const struct cvp_tune_key *key, struct cvp_tune_choice *choice);

/* Hands the host a record, if it wants it. */
void cvp_tune_host_store(const convop_tune_record *record);

#endif
