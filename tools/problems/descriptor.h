/* Problem descriptors as benchdnn writes them: g32mb1ic32ih112oc32kh3sh2ph1n"mbv1:dw2".
 *
 * Keys are g mb ic oc and, for each axis d h w, i o k s p d (size of input, of output, of kernel,
 * stride, padding, dilation), each with a number; n takes the rest as the name; '_' is skipped.
 *  - g 1, mb 2, stride 1, dilation 0 (which is dense) where not given
 *  - the first axis given of d h w says whether it is 3-D, 2-D or 1-D
 *  - an axis takes what it lacks from the one before it, unless both its input and its kernel are
 *    given; then it has the plain defaults
 *  - no padding is 0; if an output is given, it is half of what that output needs
 *  - no output: computed. A given one decides the padding at the end
 * Source: benchdnn's conv driver (oneDNN 3). Different here: a key that is given twice has the
 * same value. */
#ifndef PROBLEMS_DESCRIPTOR_H
#define PROBLEMS_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

struct axis {
    int64_t i, o, k, s; /* input, output, kernel, stride: >= 1 */
    int64_t p, pe;      /* padding before and after: >= 0 */
    int64_t d;          /* dilation, 0 is dense */
};

struct descriptor {
    int ndim; /* 1 to 3 */
    int64_t g, mb, ic, oc;
    struct axis axis[3]; /* d h w; those before the first one are {1, 1, 1, 1, 0, 0, 0} */
    const char *name;    /* points into the text that was parsed; "" if there is none */
    int name_length;
};

struct descriptor_error {
    size_t at; /* index in the text */
    char text[160];
};

/* 1, or 0 with *error filled. */
int descriptor_parse(const char *text, struct descriptor *d, struct descriptor_error *error);

/* Writes it in the shortest form that parses to the same problem, with its name as n"name".
 * Cut off at size, as snprintf. */
void descriptor_format(const struct descriptor *d, char *text, size_t size);

#endif
