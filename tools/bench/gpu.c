/* See gpu.h. The functions of the driver's ABI that it takes, by the names that the driver exports.
 */
#include "tools/bench/gpu.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "convop/registry.h"
#include "convop/settings.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;

/* Each answers with a CUresult, of which 0 is success. */
#define DRIVER                                                                                     \
    MEMBER(cuInit, (unsigned flags))                                                               \
    MEMBER(cuGetErrorString, (unsigned result, const char **text))                                 \
    MEMBER(cuDeviceGetCount, (int *count))                                                         \
    MEMBER(cuDeviceGet, (int *device, int ordinal))                                                \
    MEMBER(cuDeviceGetName, (char *name, int size, int device))                                    \
    MEMBER(cuDevicePrimaryCtxRetain, (struct CUctx_st * *context, int device))                     \
    MEMBER(cuDevicePrimaryCtxRelease_v2, (int device))                                             \
    MEMBER(cuCtxPushCurrent_v2, (struct CUctx_st * context))                                       \
    MEMBER(cuCtxPopCurrent_v2, (struct CUctx_st * *context))                                       \
    MEMBER(cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                      \
    MEMBER(cuMemFree_v2, (uint64_t address))                                                       \
    MEMBER(cuMemcpyHtoDAsync_v2,                                                                   \
           (uint64_t to, const void *from, size_t bytes, struct CUstream_st *stream))              \
    MEMBER(cuMemcpyDtoHAsync_v2,                                                                   \
           (void *to, uint64_t from, size_t bytes, struct CUstream_st *stream))                    \
    MEMBER(cuMemcpyDtoDAsync_v2,                                                                   \
           (uint64_t to, uint64_t from, size_t bytes, struct CUstream_st * stream))                \
    MEMBER(cuStreamCreate, (struct CUstream_st * *stream, unsigned flags))                         \
    MEMBER(cuStreamDestroy_v2, (struct CUstream_st * stream))                                      \
    MEMBER(cuStreamSynchronize, (struct CUstream_st * stream))                                     \
    MEMBER(cuEventCreate, (struct CUevent_st * *event, unsigned flags))                            \
    MEMBER(cuEventDestroy_v2, (struct CUevent_st * event))                                         \
    MEMBER(cuEventRecord, (struct CUevent_st * event, struct CUstream_st * stream))                \
    MEMBER(cuEventSynchronize, (struct CUevent_st * event))                                        \
    MEMBER(cuEventElapsedTime, (float *ms, struct CUevent_st *begin, struct CUevent_st *end))

#define OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY */
#define NON_BLOCKING  1 /* CU_STREAM_NON_BLOCKING: the default stream does not wait for it */

static struct driver {
#define MEMBER(symbol, parameters) unsigned(*symbol) parameters;
    DRIVER
#undef MEMBER
} driver;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define MEMBER(symbol, parameters) {#symbol, offsetof(struct driver, symbol)},
    DRIVER
#undef MEMBER
};

static struct {
    int device, is_retained, is_current;
    char name[128];
    struct CUstream_st *stream;
    struct CUevent_st *begin, *end;
} gpu;

static convop_status status_of(unsigned result, const char *what)
{
    const char *text = NULL;
    if (result == 0) return CONVOP_OK;
    if (driver.cuGetErrorString(result, &text) != 0 || !text) text = "unknown error";
    return convop_fail(result == OUT_OF_MEMORY ? CONVOP_E_NO_MEMORY : CONVOP_E_DEVICE,
                       "%s: %s (%u)", what, text, result);
}

#define CALL(symbol, ...) status_of(driver.symbol(__VA_ARGS__), #symbol)

/* What the setting cuda_library names, else the system's. */
static convop_status open_library(void **library)
{
    convop_setting_info s = {.struct_size = sizeof s};
    for (size_t i = 0; convop_setting_at(i, &s) == CONVOP_OK; i++)
        if (strcmp(s.name, "cuda_library") == 0) break;
    if (strcmp(s.value, "none") == 0)
        return convop_fail(CONVOP_E_DEVICE, "the setting cuda_library is \"none\"");
    *library = dlopen(s.value[0] ? s.value : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (*library) return CONVOP_OK;
    const char *said = dlerror();
    return convop_fail(CONVOP_E_DEVICE, "%s", said ? said : "the loader cannot open the driver");
}

/* memcpy: ISO C has no conversion from void * to a function pointer. The library stays open. */
static convop_status open_driver(void)
{
    void *library = NULL;
    convop_status status = open_library(&library);
    for (size_t i = 0; status == CONVOP_OK && i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address)
            status = convop_fail(CONVOP_E_DEVICE, "the driver that was opened has no %s",
                                 symbols[i].name);
        memcpy((char *)&driver + symbols[i].offset, &address, sizeof address);
    }
    return status;
}

/* In the primary context, as frameworks use it. */
static convop_status enter(int device)
{
    struct CUctx_st *context;
    gpu.device = device;
    convop_status status = CALL(cuDeviceGetName, gpu.name, (int)sizeof gpu.name, device);
    if (status == CONVOP_OK) status = CALL(cuDevicePrimaryCtxRetain, &context, device);
    gpu.is_retained = status == CONVOP_OK;
    if (status == CONVOP_OK) status = CALL(cuCtxPushCurrent_v2, context);
    gpu.is_current = status == CONVOP_OK;
    if (status == CONVOP_OK) status = CALL(cuStreamCreate, &gpu.stream, NON_BLOCKING);
    if (status == CONVOP_OK) status = CALL(cuEventCreate, &gpu.begin, 0);
    if (status == CONVOP_OK) status = CALL(cuEventCreate, &gpu.end, 0);
    return status;
}

convop_status gpu_open(int number)
{
    int count = 0, device;
    convop_status status = open_driver();
    if (status == CONVOP_OK) status = CALL(cuInit, 0);
    if (status == CONVOP_OK) status = CALL(cuDeviceGetCount, &count);
    if (status != CONVOP_OK) return status;
    if (number >= count)
        return convop_fail(CONVOP_E_DEVICE, "no such GPU; %d %s here", count,
                           count == 1 ? "is" : "are");
    status = CALL(cuDeviceGet, &device, number);
    return status == CONVOP_OK ? enter(device) : status;
}

void gpu_close(void)
{
    struct CUctx_st *context;
    if (gpu.end) driver.cuEventDestroy_v2(gpu.end);
    if (gpu.begin) driver.cuEventDestroy_v2(gpu.begin);
    if (gpu.stream) driver.cuStreamDestroy_v2(gpu.stream);
    if (gpu.is_current) driver.cuCtxPopCurrent_v2(&context);
    if (gpu.is_retained) driver.cuDevicePrimaryCtxRelease_v2(gpu.device);
    memset(&gpu, 0, sizeof gpu);
}

const char *gpu_name(void)
{
    return gpu.name;
}

void *gpu_stream(void)
{
    return gpu.stream;
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint64_t address_of(const void *memory)
{
    return (uintptr_t)memory;
}

convop_status gpu_alloc(size_t bytes, void **memory)
{
    uint64_t address = 0;
    convop_status status = CALL(cuMemAlloc_v2, &address, bytes);
    if (status == CONVOP_OK) *memory = (void *)(uintptr_t)address;
    return status;
}

void gpu_free(void *memory)
{
    if (memory) driver.cuMemFree_v2(address_of(memory));
}

convop_status gpu_write(void *to, const void *from, size_t bytes)
{
    convop_status status = CALL(cuMemcpyHtoDAsync_v2, address_of(to), from, bytes, gpu.stream);
    return status == CONVOP_OK ? CALL(cuStreamSynchronize, gpu.stream) : status;
}

convop_status gpu_read(void *to, const void *from, size_t bytes)
{
    convop_status status = CALL(cuMemcpyDtoHAsync_v2, to, address_of(from), bytes, gpu.stream);
    return status == CONVOP_OK ? CALL(cuStreamSynchronize, gpu.stream) : status;
}

convop_status gpu_copy(void *to, const void *from, size_t bytes)
{
    return CALL(cuMemcpyDtoDAsync_v2, address_of(to), address_of(from), bytes, gpu.stream);
}

/* ---- time ---------------------------------------------------------------------------------- */

convop_status gpu_timer_begin(void)
{
    return CALL(cuEventRecord, gpu.begin, gpu.stream);
}

convop_status gpu_timer_end(double *ms)
{
    float elapsed = 0;
    convop_status status = CALL(cuEventRecord, gpu.end, gpu.stream);
    if (status == CONVOP_OK) status = CALL(cuEventSynchronize, gpu.end);
    if (status == CONVOP_OK) status = CALL(cuEventElapsedTime, &elapsed, gpu.begin, gpu.end);
    *ms = (double)elapsed;
    return status;
}
