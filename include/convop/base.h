/* What every other header needs: visibility, status codes, error text, request kinds, tensors.
 *
 * Tensors are DLPack's DLTensor views: the caller owns the memory, convop borrows it for the call.
 * Strides count elements, byte_offset counts bytes, strides == NULL is compact row-major. */
#ifndef CONVOP_BASE_H
#define CONVOP_BASE_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#if defined(CONVOP_STATIC)
#define CONVOP_API
#elif defined(__GNUC__)
#define CONVOP_API __attribute__((visibility("default")))
#else
#define CONVOP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The versioned DLPack struct (1.0 and newer) by its tag only, so that DLPack 0.6 headers do. */
struct DLManagedTensorVersioned;

/** Most dimensions a tensor may have. */
#define CONVOP_MAX_DIMS 8

/* Name, number, text. Numbers are never reused. */
#define CONVOP_STATUS_LIST(X)                                                                      \
    X(CONVOP_OK, 0, "ok")                                                                          \
    X(CONVOP_E_INVALID, 1, "invalid argument")                                                     \
    X(CONVOP_E_UNSUPPORTED, 2, "unsupported: valid, but nothing here runs it")                     \
    X(CONVOP_E_NO_MEMORY, 3, "out of memory")                                                      \
    X(CONVOP_E_DEVICE, 4, "device error")                                                          \
    X(CONVOP_E_IO, 5, "input/output error")                                                        \
    X(CONVOP_E_NOT_FOUND, 6, "not found")                                                          \
    X(CONVOP_E_STATE, 7, "not allowed in this state")                                              \
    X(CONVOP_E_CANCELLED, 8, "cancelled")                                                          \
    X(CONVOP_E_INTERNAL, 9, "internal error, a defect of convop")

/** What a call answers. 0 is success; anything else left the outputs as they were
 *  (but for device errors that surface later, and for a plug-in's implementation that fails while
 * it computes) and set convop_last_error(). */
typedef enum convop_status {
#define CONVOP_STATUS_ENUM(name, number, text) name = number,
    CONVOP_STATUS_LIST(CONVOP_STATUS_ENUM)
#undef CONVOP_STATUS_ENUM
} convop_status;

/** The text of a status, "unknown status" for any other number. A constant. Thread-safe. */
CONVOP_API const char *convop_status_name(convop_status status);

/** One sentence about this thread's last failing call: operator, argument, value and limit.
 *  "" before the first failure. Valid until the thread's next failing call. Since 0.1. */
CONVOP_API const char *convop_last_error(void);

/** What a call does with an output (MXNet's OpReqType).
 *  NULL leaves it alone (the tensor may be NULL); WRITE overwrites, whatever was there;
 *  INPLACE is WRITE where the output may be one of the inputs, for operators that allow it;
 *  ADD adds to what is there. */
typedef enum convop_request {
    CONVOP_REQ_NULL = 0,
    CONVOP_REQ_WRITE = 1,
    CONVOP_REQ_INPLACE = 2,
    CONVOP_REQ_ADD = 3
} convop_request;

#ifdef __cplusplus
}
#endif

#endif
