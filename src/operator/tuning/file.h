/* The tuning cache's file as bytes: read whole, appended to, replaced. Nothing here ends the
 * process, waits without limit or sets the error text; `why` says what went wrong, without the
 * path. Descriptors live within a call. */
#ifndef CVP_TUNING_FILE_H
#define CVP_TUNING_FILE_H

#include <sys/types.h>
#include <time.h>

#include "convop/base.h"
#include "src/operator/tuning/place.h"

/* Larger files are neither read nor written: 1 GiB. */
#define CVP_TUNE_MAX_FILE ((off_t)1 << 30)

/* The time that a lock is waited for. */
#define CVP_TUNE_LOCK_MS 3000

/* What a file looked like; all 0: it is not there. */
struct cvp_tune_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

/* 1 if the file looks like that. One stat. */
int cvp_tune_stamp_holds(const struct cvp_tune_stamp *stamp, const char *path);

/* All of a file, ended with a 0, in a buffer of `bytes` by cvp_buffer_alloc. NOT_FOUND with stamp
 * 0, IO, NO_MEMORY; `stamp` is how it looked before it was read. */
convop_status cvp_tune_file_read(const char *path, char **text, size_t *length, size_t *bytes,
                                 struct cvp_tune_stamp *stamp, char why[CVP_TUNE_WHY]);

/* Appends lines in one write, under the file's lock; makes file and folder if they are missing, the
 * header first. What could not be written whole is taken back. `stamp` follows if it was up to
 * date before. IO */
convop_status cvp_tune_file_append(const char *path, const char *lines, size_t length,
                                   struct cvp_tune_stamp *stamp, char why[CVP_TUNE_WHY]);

/* The file, open and locked. */
struct cvp_tune_open {
    int fd;
    int is_locked; /* 0: locks are refused here, or somebody keeps one too long */
};

/* 1 if the path still leads to the open file. */
int cvp_tune_file_is_current(const struct cvp_tune_open *file, const char *path);
convop_status cvp_tune_file_open(const char *path, int create, struct cvp_tune_open *file,
                                 char why[CVP_TUNE_WHY]);
void cvp_tune_file_close(struct cvp_tune_open *file);

/* Puts a new file in the place of one, in one step; readers see the old one or the new one. It
 * keeps the old one's mode and, if it can, owner. expected NULL: whatever the old one is by then.
 * STATE: it is not as expected, for somebody wrote without a lock; IO */
convop_status cvp_tune_file_replace(const char *path, const char *text, size_t length,
                                    const struct cvp_tune_stamp *expected, char why[CVP_TUNE_WHY]);

#endif
