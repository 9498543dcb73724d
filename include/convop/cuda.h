/* Plans for GPUs that are not here. cuDNN plans from a GPU's properties alone, so a machine without
 * a GPU can fill the tuning cache for others: docs/cuda.md. Properties are cuDNN's own JSON, an
 * object of numbers, lists and the name. Since 0.1. */
#ifndef CONVOP_CUDA_H
#define CONVOP_CUDA_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The properties of a GPU of this machine, to be taken to another one.
 *  @param device  as in DLDevice.device_id
 *  @param json    room for `size` bytes, cut off as snprintf does; may be NULL if size is 0
 *  @param length  of the whole text
 *  @return INVALID (length is NULL), DEVICE (no such GPU, or no cuDNN; the text says why),
 * NO_MEMORY. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_cuda_properties(int device, char *json, size_t size,
                                                size_t *length);

/** A GPU that is known by its properties. Immutable; may be used by many threads. */
typedef struct convop_cuda_target convop_cuda_target;

/** Makes a target from properties.
 *  @param json  as convop_cuda_properties gives it; not kept
 *  @param out   the caller's, who ends it with convop_cuda_target_destroy; untouched on failure
 *  @return INVALID (a NULL, no JSON, or a property is missing: the text names it), DEVICE (no cuDNN
 *          here), NO_MEMORY. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_cuda_target_create(const char *json, convop_cuda_target **out);
/** Ends *target, which no call may be using, and sets it to NULL; NULL is accepted. Since 0.1. */
CONVOP_API void convop_cuda_target_destroy(convop_cuda_target **target);

/** Chooses for one direction of a problem on that GPU and keeps the choice in the tuning cache,
 *  where a process on such a GPU finds it, with the same cuDNN and driver. Nothing is measured; a
 *  record that is there is left alone. Other arguments as convop_conv_explain takes them, the
 *  tensors as if they were on the CPU; why_not of a row that cuDNN refuses is cuDNN's reason.
 *  @return as convop_conv_explain; INVALID for a NULL target. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_cuda_plan_conv(const convop_cuda_target *target,
                                               const convop_conv_params *params,
                                               convop_conv_direction direction, const DLTensor *src,
                                               const DLTensor *weights, const DLTensor *dst,
                                               const convop_exec *exec, convop_conv_row *rows,
                                               size_t *count);

#ifdef __cplusplus
}
#endif

#endif
