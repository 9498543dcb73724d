/* Small text files of the system: /proc and /sys. */
#ifndef CVP_COMMON_FILE_H
#define CVP_COMMON_FILE_H

#include <stddef.h>

/* Reads the first size - 1 bytes and ends them with 0. Returns their number, 0 if it cannot. */
size_t cvp_file_text(const char *path, char *text, size_t size);

#endif
