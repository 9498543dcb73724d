/* Small text helpers: bounded appending, nearest names for error texts. No policy. */
#ifndef CVP_COMMON_TEXT_H
#define CVP_COMMON_TEXT_H

#include "convop/base.h"

/* A growing text in a fixed buffer; what does not fit is cut off, `need` counts it all the same. */
struct cvp_text {
    char *at;
    size_t size, need;
};

struct cvp_text cvp_text_in(char *buffer, size_t size);
void cvp_text_add(struct cvp_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a text, or one and a number in decimal: without a format to read, for texts that are made
 * often. */
void cvp_text_put(struct cvp_text *text, const char *what);
void cvp_text_put_number(struct cvp_text *text, const char *name, int64_t value);

/* Puts blanks for control characters: one line, whatever name or path is in it. */
void cvp_text_one_line(char *text);

/* Appends "(3, 4)", with "?" for -1. */
void cvp_text_add_dims(struct cvp_text *text, int ndim, const int64_t *dim);

/* Of names[0..n), the one with the smallest edit distance to name, NULL if none is near. */
const char *cvp_nearest(const char *name, const char *const *names, size_t n);

#endif
