/* The driver's start, its devices and contexts. */
#include <string.h>

#include "tests/standin/state.h"

#define VERSION 13000

/* The figures that the vendor publishes. */
static const struct {
    const char *name, *bus;
    int major, minor, processors, memory_clock, bus_width, l2, shared;
} devices[STANDIN_DEVICES] = {
    {"NVIDIA H200", "0000:01:00.0", 9, 0, 132, 3201000, 6144, 62914560, 232448},
    {"NVIDIA A100-SXM4-80GB", "0000:02:00.0", 8, 0, 108, 1593000, 5120, 41943040, 166912},
};

static int is_started;
static struct CUctx_st *primaries[STANDIN_DEVICES];
static struct CUctx_st *all;    /* also what was ended */
static struct CUctx_st *reused; /* what the next one is put in the place of */
static unsigned long long last_id;

/* Of the calling thread; the last is current. */
#define MOST_CURRENT 16
static _Thread_local struct CUctx_st *stack[MOST_CURRENT];
static _Thread_local int depth;

static void at_exit(void)
{
    pthread_mutex_lock(&standin_lock);
    standin_check_leaks();
    pthread_mutex_unlock(&standin_lock);
}

unsigned cuInit(unsigned flags)
{
    ENTER();
    if (flags) return CVP_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&standin_lock);
    if (!is_started) (void)atexit(at_exit);
    is_started = 1;
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return CVP_CUDA_SUCCESS;
}

unsigned cuGetErrorName(unsigned result, const char **name)
{
    static const struct {
        unsigned result;
        const char *name;
    } names[] = {
#define CVP_CONSTANT(name, value) {value, #name},
#include "src/cuda/driver_constants.h"
#undef CVP_CONSTANT
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].result == result && strncmp(names[i].name, "CUDA_", 5) == 0) {
            *name = names[i].name;
            return CVP_CUDA_SUCCESS;
        }
    return CVP_CUDA_ERROR_INVALID_VALUE;
}

unsigned cuGetErrorString(unsigned result, const char **text)
{
    return cuGetErrorName(result, text);
}

void standin_expect_device(int device)
{
    if (!is_started) standin_misuse(NULL, "cuInit was not called");
    if (device < 0 || device >= STANDIN_DEVICES) standin_misuse(NULL, "no device is %d", device);
}

unsigned cuDeviceGetCount(int *count)
{
    ENTER();
    *count = STANDIN_DEVICES;
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceGet(int *device, int ordinal)
{
    ENTER();
    if (ordinal < 0 || ordinal >= STANDIN_DEVICES) return CVP_CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceGetName(char *name, int size, int device)
{
    ENTER();
    standin_expect_device(device);
    snprintf(name, (size_t)size, "%s", devices[device].name);
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceGetUuid_v2(struct CUuuid_st *uuid, int device)
{
    ENTER();
    standin_expect_device(device);
    memset(uuid, 0x11 * (device + 1), sizeof *uuid);
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceGetPCIBusId(char *id, int size, int device)
{
    ENTER();
    standin_expect_device(device);
    snprintf(id, (size_t)size, "%s", devices[device].bus);
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER();
    standin_expect_device(device);
    size_t available;
    pthread_mutex_lock(&standin_lock);
    standin_memory_info(device, &available, bytes);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    ENTER();
    standin_expect_device(device);
    const struct {
        unsigned attribute;
        int value;
    } known[] = {
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CVP_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CVP_CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CVP_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, devices[device].processors},
        {CVP_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, devices[device].memory_clock},
        {CVP_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, devices[device].bus_width},
        {CVP_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, devices[device].l2},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CVP_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, devices[device].major},
        {CVP_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, devices[device].minor},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
         devices[device].shared + 1024},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CVP_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, devices[device].shared},
        {CVP_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return CVP_CUDA_SUCCESS;
        }
    return CVP_CUDA_ERROR_INVALID_VALUE;
}

/* ---- contexts -------------------------------------------------------------------------------- */

struct CUctx_st *standin_context_create(int device)
{
    standin_expect_device(device);
    struct CUctx_st *c = reused ? reused : calloc(1, sizeof *c);
    if (!c) abort();
    c->device = device;
    pthread_mutex_lock(&standin_lock);
    c->id = ++last_id;
    if (!reused) {
        c->next = all;
        all = c;
    }
    reused = NULL;
    standin_add(STANDIN_CONTEXT, c);
    pthread_mutex_unlock(&standin_lock);
    return c;
}

void standin_context_reuse(struct CUctx_st *context)
{
    reused = context;
}

/* It stays in memory, so that whatever is still of it is found to be of another context. */
void standin_context_destroy(struct CUctx_st *context)
{
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_CONTEXT, context);
    standin_wait_for_context(context);
    standin_remove(STANDIN_CONTEXT, context);
    for (int i = 0; i < 2; i++) {
        if (context->defaults[i]) standin_stream_end(context->defaults[i]);
        context->defaults[i] = NULL;
    }
    pthread_mutex_unlock(&standin_lock);
}

struct CUctx_st *standin_current(void)
{
    if (depth == 0) standin_misuse(NULL, "no context is current");
    return stack[depth - 1];
}

unsigned cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    ENTER();
    standin_expect_device(device);
    pthread_mutex_lock(&standin_lock);
    struct CUctx_st **primary = &primaries[device];
    if (!*primary && !(*primary = calloc(1, sizeof **primary))) abort();
    (*primary)->device = device;
    if (!standin_is_live(STANDIN_CONTEXT, *primary)) {
        (*primary)->id = ++last_id;
        standin_add(STANDIN_CONTEXT, *primary);
    }
    standin_add(STANDIN_PRIMARY, *primary);
    pthread_mutex_unlock(&standin_lock);
    *context = *primary;
    return CVP_CUDA_SUCCESS;
}

unsigned cuDevicePrimaryCtxRelease_v2(int device)
{
    const unsigned failed = standin_enter(__func__);
    standin_expect_device(device);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_PRIMARY, primaries[device]);
    if (!standin_is_live(STANDIN_PRIMARY, primaries[device]))
        standin_remove(STANDIN_CONTEXT, primaries[device]);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

unsigned cuCtxGetCurrent(struct CUctx_st **context)
{
    ENTER();
    *context = depth ? stack[depth - 1] : NULL;
    return CVP_CUDA_SUCCESS;
}

unsigned cuCtxPushCurrent_v2(struct CUctx_st *context)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_CONTEXT, context);
    if (depth == MOST_CURRENT) standin_misuse(NULL, "%d contexts are current", depth);
    stack[depth++] = context;
    standin_add(STANDIN_CURRENT, context);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}

unsigned cuCtxPopCurrent_v2(struct CUctx_st **context)
{
    const unsigned failed = standin_enter(__func__);
    *context = standin_current();
    depth--;
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_CURRENT, *context);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

unsigned cuCtxGetId(struct CUctx_st *context, unsigned long long *id)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    const int is_live = standin_is_live(STANDIN_CONTEXT, context);
    if (is_live) *id = context->id;
    pthread_mutex_unlock(&standin_lock);
    return is_live ? CVP_CUDA_SUCCESS : CVP_CUDA_ERROR_INVALID_CONTEXT;
}

unsigned cuCtxGetDevice(int *device)
{
    ENTER();
    if (depth == 0) return CVP_CUDA_ERROR_INVALID_CONTEXT;
    *device = stack[depth - 1]->device;
    return CVP_CUDA_SUCCESS;
}

unsigned cuCtxSynchronize(void)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_wait_for_context(standin_current());
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}
