/* The cache of this process: records in memory, the file they mirror, and when it is looked at. */
#ifndef CVP_TUNING_CACHE_H
#define CVP_TUNING_CACHE_H

#include "src/operator/tuning/file.h"
#include "src/operator/tuning/filter.h"
#include "src/operator/tuning/index.h"

/* Both guarded by CVP_LOCK_TUNING. The user's: what this process made over what its file has. The
 * system's hides behind it. */
extern struct cvp_tune_index cvp_tune_user, cvp_tune_system;

/* Finds out where the file is and reads it, and the system's, unless that was done with the
 * settings as they are. */
void cvp_tune_ready(void);

/* For a look-up that missed: reads the file again if it has changed, at most ten times a second
 * and a twentieth of the time. 1: it was read. */
int cvp_tune_look_again(void);

/* ---- one thread at a time: between cvp_tune_enter and cvp_tune_leave ------------------------- */

/* Waits for its turn, and makes sure that memory mirrors the file. */
void cvp_tune_enter(void);
void cvp_tune_leave(void);

/* 1 if that is the file, which memory mirrors as far as it keeps so many records. */
int cvp_tune_is_mirrored(const struct cvp_tune_stamp *stamp);

/* Appends lines to the file: 1, they are there; 0, they are not, and why has been said. */
int cvp_tune_save(const char *lines, size_t length);

/* Puts a batch, of which the caller has a reference, into memory. Returns how many records it
 * superseded there. */
size_t cvp_tune_remember(struct cvp_tune_batch *batch);

/* Records that were saved are in memory now. Compacts the file if half of it is superseded. */
void cvp_tune_appended(size_t count, size_t superseded);

/* Takes what the filter means out of the file, if there is one, and reads it again. IO, NO_MEMORY
 * with the text set. */
convop_status cvp_tune_forget_in_file(const char *caller, const struct cvp_tune_filter *filter);

/* ---- for people ----------------------------------------------------------------------------- */

/* The file's path, "" if there is none; why it is not written to, "" if it is. */
void cvp_tune_where(char path[CVP_TUNE_PATH], char why[CVP_TUNE_WHY]);

#endif
