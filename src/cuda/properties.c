/* cuDNN's descriptors of the GPUs: asked from a handle where the GPU is, made from JSON where not.
 */
#include "src/cuda/properties.h"

#include <pthread.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/cuda/backend.h"
#include "src/cuda/handle.h"

/* Of those that are here, by ordinal; kept to the end of the process. */
static void *known[CVP_MAX_GPUS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a forked child gets not so far */

static convop_status ask(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                         void **properties)
{
    struct cvp_gpu_scope scope;
    struct cvp_cudnn_handle *h;
    CVP_RETURN_IF_ERROR(cvp_gpu_enter(gpu, NULL, &scope));
    convop_status status = cvp_cudnn_handle_take(cudnn, &scope, &h);
    if (status == CONVOP_OK) {
        struct cvp_backend b = cvp_backend_begin(cudnn);
        void *d = cvp_backend_make(&b, CVP_CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
        cvp_backend_set(&b, d, CVP_CUDNN_ATTR_DEVICEPROP_HANDLE, CVP_CUDNN_TYPE_HANDLE, 1,
                        &h->handle);
        cvp_backend_finalize(&b, d, "the properties of a GPU");
        status = b.status;
        if (status == CONVOP_OK) *properties = cvp_backend_keep(&b, d);
        cvp_backend_end(&b);
        cvp_cudnn_handle_give(h);
    }
    cvp_gpu_leave(&scope);
    return status;
}

convop_status cvp_gpu_properties(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                 void **properties)
{
    convop_status status = CONVOP_OK;
    *properties = gpu->properties;
    if (gpu->ordinal < 0) return CONVOP_OK;
    pthread_mutex_lock(&lock);
    if (!known[gpu->ordinal]) status = ask(cudnn, gpu, &known[gpu->ordinal]);
    *properties = known[gpu->ordinal];
    pthread_mutex_unlock(&lock);
    return status;
}

convop_status cvp_gpu_json(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu, char **json)
{
    void *properties;
    CVP_RETURN_IF_ERROR(cvp_gpu_properties(cudnn, gpu, &properties));
    return cvp_backend_text(cudnn, properties, CVP_CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
}

convop_status cvp_gpu_absent(const struct cvp_cudnn *cudnn, const char *json, struct cvp_gpu *gpu)
{
    CVP_RETURN_IF_ERROR(cvp_gpu_parse(json, gpu));
    struct cvp_backend b = cvp_backend_begin(cudnn);
    void *d = cvp_backend_make(&b, CVP_CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cvp_backend_set(&b, d, CVP_CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CVP_CUDNN_TYPE_CHAR,
                    (int64_t)strlen(json), json);
    cvp_backend_finalize(&b, d, "the properties of a GPU");
    convop_status status = b.status == CONVOP_E_UNSUPPORTED ? CONVOP_E_INVALID : b.status;
    if (status == CONVOP_OK) gpu->properties = cvp_backend_keep(&b, d);
    cvp_backend_end(&b);
    return status;
}

void cvp_gpu_absent_end(const struct cvp_cudnn *cudnn, struct cvp_gpu *gpu)
{
    cvp_backend_release(cudnn, gpu->properties);
    gpu->properties = NULL;
}
