/* Status codes inside the library. convop_fail() (convop/registry.h) sets the thread's text. */
#ifndef CVP_COMMON_STATUS_H
#define CVP_COMMON_STATUS_H

#include <string.h>

#include "convop/registry.h"

/* Leaves the calling function with the status of expr unless it is OK. Only before the function
 * holds anything that must be given back. */
#define CVP_RETURN_IF_ERROR(expr)                                                                  \
    do {                                                                                           \
        convop_status cvp_status_ = (expr);                                                        \
        if (cvp_status_ != CONVOP_OK) return cvp_status_;                                          \
    } while (0)

convop_status cvp_read_other_struct(void *to, size_t size, const void *from, const char *what);

/* Reads a caller's struct into ours: `size` bytes of *to already hold the defaults. A smaller
 * struct leaves the rest at them; a larger one must have zeros behind what we know.
 * `what` names it in the error text. */
static inline convop_status cvp_read_struct(void *to, size_t size, const void *from,
                                            const char *what)
{
    /* That of a program which was compiled with this version. */
    size_t given = 0;
    if (from) memcpy(&given, from, sizeof given);
    if (given != size) return cvp_read_other_struct(to, size, from, what);
    memcpy(to, from, size);
    return CONVOP_OK;
}

#endif
