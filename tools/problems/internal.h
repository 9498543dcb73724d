/* What the files of this folder share. */
#ifndef PROBLEMS_INTERNAL_H
#define PROBLEMS_INTERNAL_H

#include "tools/problems/problems.h"

extern const struct settings problems_defaults;

/* In src_tags and dst_tags, beside enum tag: "any", and a layout that convop does not have. */
#define ANY_TAG     (-1)
#define UNKNOWN_TAG (-2)

/* Adds a value that the list does not have yet; 0: it is full. */
int problems_choose(struct choices *list, int value);

/* Copies the options whose bit is set. */
void problems_copy_options(unsigned bits, const struct settings *from, struct settings *to);

/* Counts an option that convop does not have. 0: no memory. */
int problems_leave_out(struct problem_list *list, const char *option, struct problem_error *error);

/* Fills the error; answers 0. */
int problems_no_memory(struct problem_error *error);
int problems_refuse(struct problem_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
