/* Modules and launches. The image only has to be one; its kernels are those that the test gave,
 * which run on the host. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/state.h"

#define MOST_THREADS 1024

struct CUmod_st {
    struct CUctx_st *context;
    unsigned long long context_id;
};

struct CUfunc_st {
    struct CUmod_st *module;
    char name[128];
    size_t args_size;
};

static const struct standin_kernels *kernels;
static double (*time_of)(const char *kernel, unsigned threads);

void standin_launches_take(double (*ms)(const char *kernel, unsigned threads))
{
    time_of = ms;
}

void standin_set_kernels(const struct standin_kernels *given)
{
    kernels = given;
}

/* For a program that cannot call this: those of the library that STANDIN_KERNELS names. */
__attribute__((constructor)) static void take_kernels(void)
{
    const char *name = getenv("STANDIN_KERNELS");
    if (!name) return;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    kernels = library ? dlsym(library, "standin_kernels") : NULL;
    if (!kernels) standin_misuse("STANDIN_KERNELS", "%s", dlerror());
}

/* A fatbin, what nvcc wraps one in, or an ELF file. */
static int is_image(const void *image)
{
    static const unsigned magics[] = {0xba55ed50, 0x466243b1, 0x464c457f};
    unsigned begin;
    memcpy(&begin, image, sizeof begin);
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (begin == magics[i]) return 1;
    return 0;
}

unsigned cuModuleLoadData(struct CUmod_st **module, const void *image)
{
    ENTER();
    struct CUctx_st *context = standin_current();
    if (!is_image(image)) return CVP_CUDA_ERROR_INVALID_IMAGE;
    struct CUmod_st *m = calloc(1, sizeof *m);
    if (!m) abort();
    m->context = context;
    m->context_id = context->id;
    pthread_mutex_lock(&standin_lock);
    standin_is_unsafe();
    standin_add(STANDIN_MODULE, m);
    pthread_mutex_unlock(&standin_lock);
    *module = m;
    return CVP_CUDA_SUCCESS;
}

unsigned cuModuleUnload(struct CUmod_st *module)
{
    const unsigned failed = standin_enter(__func__);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_MODULE, module);
    const struct CUfunc_st *f;
    for (size_t i = 0; (f = standin_at(STANDIN_FUNCTION, i));) {
        if (f->module != module) {
            i++;
            continue;
        }
        standin_remove(STANDIN_FUNCTION, f);
        free((void *)(uintptr_t)f);
    }
    pthread_mutex_unlock(&standin_lock);
    free(module);
    return failed;
}

unsigned cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    ENTER();
    const size_t bytes = kernels ? kernels->args_size(name) : 0;
    if (bytes == 0) return CVP_CUDA_ERROR_NOT_FOUND;
    struct CUfunc_st *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->module = module;
    f->args_size = bytes;
    snprintf(f->name, sizeof f->name, "%s", name);
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_MODULE, module);
    standin_add(STANDIN_FUNCTION, f);
    pthread_mutex_unlock(&standin_lock);
    *function = f;
    return CVP_CUDA_SUCCESS;
}

static void expect_function(const struct CUfunc_st *function)
{
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_FUNCTION, function);
    pthread_mutex_unlock(&standin_lock);
}

unsigned cuFuncGetAttribute(int *value, unsigned attribute, struct CUfunc_st *function)
{
    ENTER();
    expect_function(function);
    switch (attribute) {
    case CVP_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = MOST_THREADS; break;
    case CVP_CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 64; break;
    default: *value = 0;
    }
    return CVP_CUDA_SUCCESS;
}

unsigned cuFuncSetAttribute(struct CUfunc_st *function, unsigned attribute, int value)
{
    ENTER();
    expect_function(function);
    (void)attribute, (void)value;
    return CVP_CUDA_SUCCESS;
}

unsigned cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function,
                                                     int block_size, size_t dynamic_shared_bytes)
{
    ENTER();
    expect_function(function);
    (void)dynamic_shared_bytes;
    *blocks = block_size > 0 ? 2048 / block_size : 0;
    return CVP_CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------- */

struct launch {
    char kernel[128];
    unsigned grid[3], threads;
    size_t shared;
    _Alignas(16) unsigned char args[];
};

/* The host runs one launch at a time; this is the one that it runs. */
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static struct op *running;

static void *translate(const void *address, size_t bytes, int writes)
{
    return standin_touch(running, (uintptr_t)address, bytes, writes);
}

static void run_launch(struct op *op, void *data)
{
    const struct launch *l = data;
    const char *error = "";
    pthread_mutex_lock(&host_lock);
    running = op;
    *kernels->translate = translate;
    if (kernels->launch(l->kernel, l->grid, l->threads, l->shared, l->args, &error) != 0)
        standin_misuse(l->kernel, "%s", error);
    *kernels->translate = NULL;
    pthread_mutex_unlock(&host_lock);
}

unsigned cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned dynamic_shared_bytes, struct CUstream_st *handle,
                        void **parameters, void **extra)
{
    ENTER();
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_FUNCTION, function);
    struct CUstream_st *stream = standin_stream_of(handle);
    if (function->module->context != stream->context ||
        function->module->context_id != stream->context->id)
        standin_misuse(NULL, "the kernel is of another context than the stream");
    if (extra || block_y != 1 || block_z != 1)
        standin_misuse(NULL, "a block is a row of threads here, and arguments are parameters");
    if (block_x == 0 || block_x > MOST_THREADS || grid_x == 0 || grid_y == 0 || grid_z == 0)
        standin_misuse(NULL, "%u x %u x %u blocks of %u threads", grid_x, grid_y, grid_z, block_x);
    struct launch *l = malloc(sizeof *l + function->args_size);
    if (!l) abort();
    *l = (struct launch){
        .grid = {grid_x, grid_y, grid_z}, .threads = block_x, .shared = dynamic_shared_bytes};
    memcpy(l->kernel, function->name, sizeof l->kernel);
    memcpy(l->args, parameters[0], function->args_size);
    struct work *work = standin_work("cuLaunchKernel", run_launch, l);
    work->end = free;
    work->ms = time_of ? time_of(l->kernel, block_x) : 0.1;
    standin_enqueue(stream, work);
    pthread_mutex_unlock(&standin_lock);
    return CVP_CUDA_SUCCESS;
}
