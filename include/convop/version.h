/* The version of this header, and of the library that runs. meson.build reads it from here. */
#ifndef CONVOP_VERSION_H
#define CONVOP_VERSION_H

#include "convop/base.h"

#define CONVOP_VERSION_MAJOR 0
#define CONVOP_VERSION_MINOR 1
#define CONVOP_VERSION_PATCH 0

/** One number that compares: 0x010203 is 1.2.3. */
#define CONVOP_VERSION                                                                             \
    ((CONVOP_VERSION_MAJOR << 16) | (CONVOP_VERSION_MINOR << 8) | CONVOP_VERSION_PATCH)
#define CONVOP_VERSION_AT_LEAST(major, minor, patch)                                               \
    (CONVOP_VERSION >= (((major) << 16) | ((minor) << 8) | (patch)))

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the loaded library, as CONVOP_VERSION counts. Thread-safe. Since 0.1. */
CONVOP_API unsigned convop_version(void);

/** The same as text, "0.1.0". A constant of the library. Thread-safe. Since 0.1. */
CONVOP_API const char *convop_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
