/* What the library found on this machine, and why, for people and bug reports. */
#ifndef CONVOP_INFO_H
#define CONVOP_INFO_H

#include "convop/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct convop_info_item {
    size_t struct_size;
    const char *name; /* "openblas"; names are kept from version to version */
    char value[256];  /* what is there, "none" if nothing is; for people, may be reworded */
    char why[256];    /* where it comes from, or why it is none; "" if there is nothing to say */
} convop_info_item;

/** The index-th item. Looks for what it reports on (opens OpenBLAS, the CUDA driver, cuDNN) if that
 * has not happened yet.
 *  @param item  struct_size is set by the caller; untouched on failure
 *  @return NOT_FOUND past the last one. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_info(size_t index, convop_info_item *item);

#ifdef __cplusplus
}
#endif

#endif
