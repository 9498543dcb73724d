/* cuDNN 9 as a table of functions, opened by name when first needed: the library that the setting
 * cudnn_library names, else the one that the host has loaded, else the system's. Loading a second
 * one before a framework loads its own breaks the framework, so nothing loads it early.
 *
 * convop declares what it uses itself; a test compares that with cudnn.h where it is. */
#ifndef CVP_CUDA_CUDNN_H
#define CVP_CUDA_CUDNN_H

#include <stddef.h>

#include "convop/base.h"
#include "src/common/text.h"

struct CUstream_st;
struct cudnnContext;

/* CVP_CUDNN_STATUS_SUCCESS, CVP_CUDNN_ATTR_TENSOR_STRIDES, ... */
enum cvp_cudnn_constant {
#define CVP_CONSTANT(name, value) CVP_##name = (value),
#include "src/cuda/cudnn_constants.h"
#undef CVP_CONSTANT
};

struct cvp_cudnn {
#define CVP_CUDNN(member, symbol, result, parameters) result(*member) parameters;
#include "src/cuda/cudnn_list.h"
#undef CVP_CUDNN
};

/* The first version that makes a plan from the properties of a device alone. */
#define CVP_CUDNN_OLDEST 90800

/* cuDNN; NULL with the reason in *why, which stays. The first call opens it; the setting
 * cudnn_library counts at that moment. It is never closed, and needs no driver to plan; but
 * where a driver is lost (driver.h), so is cuDNN. Thread-safe. */
const struct cvp_cudnn *cvp_cudnn_get(const char **why);

/* For `convop info`: the version and where it is from, or "none" and why. */
void cvp_cudnn_describe(struct cvp_text *value, struct cvp_text *why);

#endif
