/* Small helpers for files of lines with fields between tabs: .idx and .lst. */
#ifndef CVP_IO_TEXT_FILE_H
#define CVP_IO_TEXT_FILE_H

#include "convop/base.h"

/* A whole file in memory, cut into lines while it is read. Begins as {0}. */
struct cvp_io_text {
    char *path, *data; /* data: `size` bytes and a 0 */
    size_t size, at;
    size_t line; /* number of the line that next() gave last, from 1 */
};

convop_status cvp_io_text_load(const char *path, struct cvp_io_text *text);
void cvp_io_text_free(struct cvp_io_text *text);

/* The next line that is not blank, without its end ("\n" or "\r\n"), 0-terminated in place; NULL at
 * the end. Lines may be kept as long as the text. */
char *cvp_io_text_next(struct cvp_io_text *text);

/* Cuts *rest at its first tab and gives what is before, without blanks around it; NULL if nothing
 * is left. */
char *cvp_io_text_field(char **rest);

/* An unsigned decimal number and nothing else; 0 if it is none or above `most`. */
int cvp_io_text_u64(const char *text, uint64_t most, uint64_t *value);

/* Fails with INVALID and "PATH: line N: ..." */
convop_status cvp_io_text_fail(const struct cvp_io_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
