/* The driver's calls about memory: allocation, copies, fills. */
#include <string.h>

#include "tests/standin/state.h"

/* Freeing may have been enqueued only. */
static unsigned take(unsigned long long *address, size_t bytes, int in_order)
{
    struct CUctx_st *context = standin_current();
    unsigned long long got = standin_alloc(context, bytes, in_order);
    if (!got) {
        standin_wait_for_context(NULL);
        got = standin_alloc(context, bytes, in_order);
    }
    if (!got) return CVP_CUDA_ERROR_OUT_OF_MEMORY;
    *address = got;
    return CVP_CUDA_SUCCESS;
}

unsigned cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    ENTER();
    if (bytes == 0) return CVP_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    const unsigned result = take(address, bytes, 0);
    pthread_mutex_unlock(&standin_lock);
    return result;
}

/* Waits for the device, as the driver does. */
unsigned cuMemFree_v2(unsigned long long address)
{
    const unsigned failed = standin_enter(__func__);
    if (!address) return failed;
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_expect_alloc(standin_current(), address);
    standin_wait_for_context(NULL);
    standin_free(address, NULL);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

struct range {
    unsigned long long to, from;
    size_t bytes;
    void *host;     /* instead of one of them */
    int host_owned; /* the copy's own */
    unsigned value;
    size_t unit; /* of a fill: 1 or 4 */
};

static void end_range(void *data)
{
    struct range *r = data;
    if (r->host_owned) free(r->host);
    free(r);
}

/* With the lock: makes work of a range, and enqueues it. */
static void enqueue(const char *what, struct CUstream_st *stream, const struct range *range,
                    void (*run)(struct op *op, void *data))
{
    struct range *r = malloc(sizeof *r);
    if (!r) abort();
    *r = *range;
    struct work *work = standin_work(what, run, r);
    work->end = end_range;
    work->ms = 0.01;
    standin_enqueue(stream, work);
}

static void run_alloc(struct op *op, void *data)
{
    const struct range *r = data;
    standin_touch(op, r->to, r->bytes, 1);
}

static void run_free(struct op *op, void *data)
{
    const struct range *r = data;
    standin_touch(op, r->to, r->bytes, 1);
    standin_touched(op);
    pthread_mutex_lock(&standin_lock);
    standin_free(r->to, op);
    pthread_mutex_unlock(&standin_lock);
}

unsigned cuMemAllocAsync(unsigned long long *address, size_t bytes, struct CUstream_st *handle)
{
    ENTER();
    if (bytes == 0) return CVP_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *stream = standin_stream_of(handle);
    if (stream->capture) standin_misuse(NULL, "memory is allocated while the stream is captured");
    const unsigned result = take(address, bytes, 1);
    if (result == CVP_CUDA_SUCCESS)
        enqueue("cuMemAllocAsync", stream, &(struct range){.to = *address, .bytes = bytes},
                run_alloc);
    pthread_mutex_unlock(&standin_lock);
    return result;
}

unsigned cuMemFreeAsync(unsigned long long address, struct CUstream_st *handle)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *stream = standin_stream_of(handle);
    if (stream->capture) standin_misuse(NULL, "memory is freed while the stream is captured");
    standin_expect_alloc(stream->context, address);
    enqueue("cuMemFreeAsync", stream,
            &(struct range){.to = address, .bytes = standin_alloc_bytes(address)}, run_free);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

unsigned cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_memory_info(standin_current()->device, available, total);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuMemAllocHost_v2(void **memory, size_t bytes)
{
    ENTER();
    (void)standin_current();
    void *got = malloc(bytes ? bytes : 1);
    if (!got) abort();
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_add(STANDIN_HOST_MEMORY, got);
    pthread_mutex_unlock(&standin_lock);
    *memory = got;
    return CVP_CUDA_SUCCESS;
}

unsigned cuMemFreeHost(void *memory)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_remove(STANDIN_HOST_MEMORY, memory);
    standin_wait_for_context(NULL);
    pthread_mutex_unlock(&standin_lock);
    free(memory);
    return failed;
}

unsigned cuPointerGetAttribute(void *value, unsigned attribute, unsigned long long address)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    struct CUctx_st *owner = standin_owner(address);
    pthread_mutex_unlock(&standin_lock);
    if (!owner) return CVP_CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CVP_CU_POINTER_ATTRIBUTE_CONTEXT: *(struct CUctx_st **)value = owner; break;
    case CVP_CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)value = CVP_CU_MEMORYTYPE_DEVICE; break;
    case CVP_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = owner->device; break;
    default: return CVP_CUDA_ERROR_INVALID_VALUE;
    }
    return CVP_CUDA_SUCCESS;
}

/* ---- copies and fills ------------------------------------------------------------------------ */

static void run_copy(struct op *op, void *data)
{
    const struct range *r = data;
    const void *from = r->from ? standin_touch(op, r->from, r->bytes, 0) : r->host;
    void *to = r->to ? standin_touch(op, r->to, r->bytes, 1) : r->host;
    memcpy(to, from, r->bytes);
}

/* Memory of the host that the driver did not allocate is read before the call returns. */
unsigned cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                              struct CUstream_st *handle)
{
    ENTER();
    if (bytes == 0) return CVP_CUDA_SUCCESS;
    standin_expect_host(from);
    pthread_mutex_lock(&standin_lock);
    struct range r = {.to = to, .bytes = bytes, .host = (void *)(uintptr_t)from};
    if (!standin_is_live(STANDIN_HOST_MEMORY, from)) {
        r.host = malloc(bytes);
        if (!r.host) abort();
        memcpy(r.host, from, bytes);
        r.host_owned = 1;
    }
    enqueue("cuMemcpyHtoDAsync", standin_stream_of(handle), &r, run_copy);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

/* It is written before the call returns, too. */
unsigned cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes,
                              struct CUstream_st *handle)
{
    ENTER();
    if (bytes == 0) return CVP_CUDA_SUCCESS;
    standin_expect_host(to);
    pthread_mutex_lock(&standin_lock);
    struct CUstream_st *stream = standin_stream_of(handle);
    const int is_pinned = standin_is_live(STANDIN_HOST_MEMORY, to);
    if (!is_pinned) standin_needs_no_capture(stream);
    enqueue("cuMemcpyDtoHAsync", stream, &(struct range){.from = from, .bytes = bytes, .host = to},
            run_copy);
    if (!is_pinned) standin_wait(&stream->clock);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                              struct CUstream_st *handle)
{
    ENTER();
    if (bytes == 0) return CVP_CUDA_SUCCESS;
    pthread_mutex_lock(&standin_lock);
    enqueue("cuMemcpyDtoDAsync", standin_stream_of(handle),
            &(struct range){.to = to, .from = from, .bytes = bytes}, run_copy);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

static void run_fill(struct op *op, void *data)
{
    const struct range *r = data;
    unsigned char *to = standin_touch(op, r->to, r->bytes, 1);
    for (size_t i = 0; i < r->bytes; i += r->unit) memcpy(to + i, &r->value, r->unit);
}

static unsigned fill(const char *what, unsigned long long to, unsigned value, size_t unit,
                     size_t count, struct CUstream_st *handle)
{
    if (count == 0) return CVP_CUDA_SUCCESS;
    if (to % unit) standin_misuse(what, "%#llx is no multiple of %zu", to, unit);
    pthread_mutex_lock(&standin_lock);
    enqueue(what, standin_stream_of(handle),
            &(struct range){.to = to, .bytes = count * unit, .value = value, .unit = unit},
            run_fill);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuMemsetD8Async(unsigned long long to, unsigned char value, size_t count,
                         struct CUstream_st *stream)
{
    ENTER();
    return fill("cuMemsetD8Async", to, value, 1, count, stream);
}

unsigned cuMemsetD32Async(unsigned long long to, unsigned value, size_t count,
                          struct CUstream_st *stream)
{
    ENTER();
    return fill("cuMemsetD32Async", to, value, 4, count, stream);
}
