/* Handles of cuDNN: what runs plans, on a stream of a context. A handle serves one thread at a
 * time, so each call takes one and gives it back; the next call on that stream finds the same. */
#ifndef CVP_CUDA_HANDLE_H
#define CVP_CUDA_HANDLE_H

#include "src/cuda/context.h"
#include "src/cuda/cudnn.h"

struct cvp_cudnn_handle {
    struct cudnnContext *handle;
    struct CUctx_st *context;
    unsigned long long context_id;
    struct CUstream_st *stream;
    struct cvp_cudnn_handle *next;
};

/* One of the scope's context, set to its stream. Made where all are in use. */
convop_status cvp_cudnn_handle_take(const struct cvp_cudnn *cudnn,
                                    const struct cvp_gpu_scope *scope,
                                    struct cvp_cudnn_handle **taken);
void cvp_cudnn_handle_give(struct cvp_cudnn_handle *handle);

/* Ends those that nobody uses. */
void cvp_cudnn_handles_trim(void);

#endif
