/* Work on a GPU: the context that it happens in, and scratch memory in the order of a stream.
 *
 * The host's context is used, never one of convop's own: the stream's; for the NULL stream the one
 * that is current, where that is the GPU's; else the primary context, which frameworks share. It is
 * current between cvp_gpu_enter and cvp_gpu_leave, in the calling thread. */
#ifndef CVP_CUDA_CONTEXT_H
#define CVP_CUDA_CONTEXT_H

#include "src/cuda/device.h"

struct cvp_gpu_scope {
    const struct cvp_driver *driver;
    struct CUctx_st *context;
    unsigned long long id; /* of the context; its address may be another one's after its end */
    struct CUstream_st *stream;
};

/* stream NULL: the default stream of the context. DEVICE: no context, or the stream is of another
 * GPU. On failure nothing is to be left. */
convop_status cvp_gpu_enter(const struct cvp_gpu *gpu, void *stream, struct cvp_gpu_scope *scope);
void cvp_gpu_leave(struct cvp_gpu_scope *scope);

/* 1 while the work of the stream is captured into a graph. */
int cvp_gpu_is_captured(const struct cvp_gpu *gpu, void *stream);

/* Memory that work enqueued after this may use, until it is freed in the same order; neither waits
 * for the GPU. NULL: there is none. */
void *cvp_gpu_alloc(const struct cvp_gpu_scope *scope, size_t bytes);
void cvp_gpu_free(const struct cvp_gpu_scope *scope, void *memory);

#endif
