/* Where the files of the tuning cache lie. */
#ifndef CVP_TUNING_PLACE_H
#define CVP_TUNING_PLACE_H

#include <stddef.h>

#define CVP_TUNE_PATH 4096
#define CVP_TUNE_WHY  256

/* The path of the user's file, "" if there is none; then `why` says why. Nothing is created. */
void cvp_tune_place(char path[CVP_TUNE_PATH], char why[CVP_TUNE_WHY]);

/* The system's file, which is only read. */
const char *cvp_tune_system_path(void);

/* Makes the folder of a file and the one above it, 0700, as far as they are missing. */
void cvp_tune_make_folder(const char *path);

/* 1 if the file can be written to, or made; else 0 and `why`. Asks, and changes nothing. */
int cvp_tune_can_write(const char *path, char why[CVP_TUNE_WHY]);

#endif
