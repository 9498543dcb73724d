/* The error of a task, shared by all variables that it reached. */
#ifndef CVP_ENGINE_ERROR_H
#define CVP_ENGINE_ERROR_H

#include "convop/base.h"

/* The count is guarded by the engine's lock; the rest is immutable. */
struct cvp_error {
    uint64_t references; /* 0: static, counts nothing */
    uint64_t order;      /* in which tasks of the engine failed */
    convop_status status;
    const char *text;
};

/* An error with a copy of text and one reference. Never NULL: without memory the text is a fixed
 * one and the order is the last. */
struct cvp_error *cvp_error_make(convop_status status, const char *text, uint64_t order);

struct cvp_error *cvp_error_ref(struct cvp_error *error);

/* Accepts NULL. */
void cvp_error_drop(struct cvp_error *error);

#endif
