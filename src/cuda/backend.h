/* cuDNN's backend API, in which everything is an attribute of a descriptor: descriptors that live
 * as long as a scope, and an error that is kept until somebody looks.
 *
 *     struct cvp_backend b = cvp_backend_begin(cudnn);
 *     void *tensor = cvp_backend_make(&b, CVP_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
 *     cvp_backend_set(&b, tensor, CVP_CUDNN_ATTR_TENSOR_UNIQUE_ID, CVP_CUDNN_TYPE_INT64, 1, &id);
 *     cvp_backend_finalize(&b, tensor, "the tensor src");
 *     ...                                  after a failure these calls do nothing
 *     convop_status status = b.status;     the sentence is in convop_last_error()
 *     cvp_backend_end(&b);                 all descriptors go */
#ifndef CVP_CUDA_BACKEND_H
#define CVP_CUDA_BACKEND_H

#include "src/cuda/cudnn.h"

/* Making a kept plan anew has most: 21 for a graph of a convolution with all that may follow it, 32
 * for knobs, 6 for the rest. */
#define CVP_BACKEND_MOST 64

struct cvp_backend {
    const struct cvp_cudnn *cudnn;
    convop_status status; /* of the first call that failed */
    int count;
    void *made[CVP_BACKEND_MOST];
};

struct cvp_backend cvp_backend_begin(const struct cvp_cudnn *cudnn);
void cvp_backend_end(struct cvp_backend *b);

/* A descriptor of that CUDNN_BACKEND_..._DESCRIPTOR; NULL once something has failed. */
void *cvp_backend_make(struct cvp_backend *b, unsigned type);

void cvp_backend_set(struct cvp_backend *b, void *descriptor, unsigned name, unsigned type,
                     int64_t count, const void *values);

/* The same for one value that is another descriptor. */
void cvp_backend_link(struct cvp_backend *b, void *descriptor, unsigned name, void *other);

/* `what` names it in the error: "a plan". */
void cvp_backend_finalize(struct cvp_backend *b, void *descriptor, const char *what);

/* Takes a descriptor out of the scope: the caller ends it with cvp_backend_release. */
void *cvp_backend_keep(struct cvp_backend *b, void *descriptor);

/* NULL is left alone, and so is one of a parent whose driver is lost. */
void cvp_backend_release(const struct cvp_cudnn *cudnn, void *descriptor);

/* Reads up to `most` values; returns how many there are, 0 if that fails, which is no error of the
 * scope. */
int64_t cvp_backend_get(const struct cvp_cudnn *cudnn, void *descriptor, unsigned name,
                        unsigned type, int64_t most, void *values);

/* A text, by cvp_malloc, in one line: control characters have become blanks. */
convop_status cvp_backend_text(const struct cvp_cudnn *cudnn, void *descriptor, unsigned name,
                               char **text);

/* What a call of cuDNN came to, as a status: UNSUPPORTED where it cannot do what it is asked for,
 * NO_MEMORY, else DEVICE; the sentence ends with cuDNN's own last-error text. */
convop_status cvp_cudnn_status(const struct cvp_cudnn *cudnn, unsigned result, const char *what);

#endif
