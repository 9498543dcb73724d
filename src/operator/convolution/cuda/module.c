/* Loading the image of the CUDA kernels, and launching one. */
#include "src/operator/convolution/cuda/module.h"

#include <pthread.h>
#include <stdatomic.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/config.h"
#include "src/operator/convolution/cuda/image.h"

#if CVP_BUILD_CUDA
static const char *image(void)
{
    return cvp_cuda_image;
}
#else
const size_t cvp_cuda_image_size = 0;
const char cvp_cuda_architectures[] = "";

static const char *image(void)
{
    return NULL;
}
#endif

int cvp_cuda_has_kernels(const char **why)
{
    *why = "convop was built without nvcc";
    return image() != NULL;
}

void cvp_cuda_describe_kernels(struct cvp_text *value, struct cvp_text *why)
{
    const char *reason;
    if (!cvp_cuda_has_kernels(&reason)) {
        cvp_text_add(value, "none");
        cvp_text_add(why, "%s", reason);
        return;
    }
    cvp_text_add(value, "%d of compute capability %s", CVP_CUDA_KERNELS, cvp_cuda_architectures);
    cvp_text_add(why, "%zu KiB; the driver compiles them for others", cvp_cuda_image_size >> 10);
}

/* A context and what is loaded into it. Never unloaded: a context that ends takes its modules
 * along, and is seldom followed by another. */
struct loaded {
    unsigned long long context; /* its id: another one may have its address later */
    struct CUmod_st *module;
    _Atomic(struct CUfunc_st *) functions[CVP_CUDA_KERNELS];
    struct loaded *next;
};

static _Atomic(struct loaded *) all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a forked child gets not so far */

static struct loaded *find(unsigned long long context)
{
    struct loaded *l = atomic_load(&all);
    while (l && l->context != context) l = l->next;
    return l;
}

/* Loading is nothing that a capture records, but by default it ends one. */
static convop_status load(const struct cvp_gpu_scope *scope, struct loaded **result)
{
    const struct cvp_driver *d = scope->driver;
    struct loaded *l = cvp_calloc(1, sizeof *l);
    if (!l)
        return convop_fail(CONVOP_E_NO_MEMORY, "CUDA kernels: no memory for their table, %zu bytes",
                           sizeof *l);
    l->context = scope->id;
    unsigned mode = CVP_CU_STREAM_CAPTURE_MODE_RELAXED;
    (void)d->capture_mode_exchange(&mode);
    const unsigned code = d->module_load(&l->module, image());
    (void)d->capture_mode_exchange(&mode);
    const convop_status status = cvp_driver_status(d, code, "CUDA kernels: loading them");
    if (status != CONVOP_OK) {
        cvp_free(l);
        return status;
    }
    l->next = atomic_load(&all);
    atomic_store(&all, l);
    *result = l;
    return CONVOP_OK;
}

static convop_status get(const struct cvp_gpu_scope *scope, enum cvp_cuda_kernel kernel,
                         struct CUfunc_st **function)
{
    convop_status status = CONVOP_OK;
    struct loaded *l = find(scope->id);
    if (!l) {
        pthread_mutex_lock(&lock);
        l = find(scope->id);
        if (!l) status = load(scope, &l);
        pthread_mutex_unlock(&lock);
        if (status != CONVOP_OK) return status;
    }
    *function = atomic_load(&l->functions[kernel]);
    if (*function) return CONVOP_OK;
    CVP_RETURN_IF_ERROR(cvp_driver_status(
        scope->driver,
        scope->driver->module_function(function, l->module, cvp_cuda_kernel_name(kernel)),
        cvp_cuda_kernel_name(kernel)));
    atomic_store(&l->functions[kernel], *function);
    return CONVOP_OK;
}

convop_status cvp_cuda_launch(const struct cvp_gpu_scope *scope, const struct cvp_cuda_step *s)
{
    struct CUfunc_st *function;
    CVP_RETURN_IF_ERROR(get(scope, s->kernel, &function));
    void *parameters[] = {(void *)(uintptr_t)&s->args};
    return cvp_driver_status(scope->driver,
                             scope->driver->launch(function, s->grid[0], s->grid[1], s->grid[2],
                                                   s->threads, 1, 1, s->shared, scope->stream,
                                                   parameters, NULL),
                             cvp_cuda_kernel_name(s->kernel));
}
