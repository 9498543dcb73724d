/* The CUDA driver as a table of functions, opened by name when something on a GPU is first asked
 * for. convop declares what it uses itself, so that building needs no header of NVIDIA; a test
 * compares the declarations with cuda.h where that is.
 *
 * Enumerations of cuda.h have no negative values, so their type in C is unsigned. The tags of its
 * incomplete structs are kept: the types are then the same ones. */
#ifndef CVP_CUDA_DRIVER_H
#define CVP_CUDA_DRIVER_H

#include <stddef.h>

#include "convop/base.h"
#include "src/common/text.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
#ifndef __cuda_cuda_h__ /* a test includes both */
struct CUuuid_st {
    char bytes[16];
};
#endif

/* CVP_CUDA_SUCCESS, CVP_CU_STREAM_DEFAULT, ... */
enum cvp_driver_constant {
#define CVP_CONSTANT(name, value) CVP_##name = (value),
#include "src/cuda/driver_constants.h"
#undef CVP_CONSTANT
};

struct cvp_driver {
#define CVP_DRIVER(member, symbol, parameters) unsigned(*member) parameters;
#include "src/cuda/driver_list.h"
#undef CVP_DRIVER
};

/* The driver, initialised; NULL with the reason in *why, which stays. The first call opens it; the
 * setting cuda_library counts at that moment. It is never closed. Thread-safe. */
const struct cvp_driver *cvp_driver_get(const char **why);

/* 1, with the reason, in a process that was forked from one that had started the driver. Its state
 * does not survive that: it refuses the child, and crashes some. Nothing of it or of cuDNN is
 * called then, and no lock is taken that another thread may have held in a call of theirs. */
int cvp_driver_is_lost(const char **why);

/* What a call of the driver came to, as a status: OK for CUDA_SUCCESS; else NO_MEMORY or DEVICE,
 * with the driver's own text after `what` ("Convolution: cuLaunchKernel"). */
convop_status cvp_driver_status(const struct cvp_driver *driver, unsigned result, const char *what);

/* For `convop info`: the version and where it is from, or "none" and why. */
void cvp_driver_describe(struct cvp_text *value, struct cvp_text *why);

#endif
