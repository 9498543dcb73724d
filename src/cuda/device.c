/* Which GPUs there are: asked once. */
#include "src/cuda/device.h"

#include <pthread.h>
#include <stdio.h>

#include "src/cuda/cudnn.h"

static struct cvp_gpu gpus[CVP_MAX_GPUS];
static int count;
static char reason[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

void cvp_gpu_set_key(struct cvp_gpu *gpu)
{
    struct cvp_text t = cvp_text_in(gpu->key, sizeof gpu->key);
    cvp_text_add(&t, "gpu=%s;cc=%d.%d;sm=%d", gpu->name, gpu->major, gpu->minor, gpu->processors);
    for (char *c = gpu->key; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
}

void cvp_gpu_describe_software(const struct cvp_gpu *gpu, struct cvp_text *text)
{
    const char *why;
    const struct cvp_cudnn *cudnn = cvp_cudnn_get(&why);
    cvp_text_add(text, ";driver=%d;cudnn=%zu", gpu->driver, cudnn ? cudnn->version() : (size_t)0);
}

/* Two transfers a clock. Not every driver says. */
static double bandwidth_of(const struct cvp_driver *d, int device)
{
    int khz = 0, bits = 0;
    if (d->device_attribute(&khz, CVP_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device) !=
            CVP_CUDA_SUCCESS ||
        d->device_attribute(&bits, CVP_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, device) !=
            CVP_CUDA_SUCCESS)
        return 0;
    return 2.0 * khz * bits / 8;
}

static unsigned ask(const struct cvp_driver *d, struct cvp_gpu *g)
{
    const struct {
        int *value;
        unsigned attribute;
    } wanted[] = {
        {&g->major, CVP_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&g->minor, CVP_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&g->processors, CVP_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    };
    unsigned result = d->device_get(&g->device, g->ordinal);
    if (result == CVP_CUDA_SUCCESS) result = d->driver_version(&g->driver);
    if (result == CVP_CUDA_SUCCESS) result = d->device_name(g->name, sizeof g->name, g->device);
    if (result == CVP_CUDA_SUCCESS) result = d->device_memory(&g->memory, g->device);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && result == CVP_CUDA_SUCCESS; i++)
        result = d->device_attribute(wanted[i].value, wanted[i].attribute, g->device);
    if (result == CVP_CUDA_SUCCESS) g->bandwidth = bandwidth_of(d, g->device);
    cvp_gpu_set_key(g);
    return result;
}

static void look(void)
{
    const char *why;
    const struct cvp_driver *d = cvp_driver_get(&why);
    int all = 0;
    unsigned result = d->device_count(&all);
    for (; result == CVP_CUDA_SUCCESS && count < all && count < CVP_MAX_GPUS; count++) {
        gpus[count].ordinal = count;
        result = ask(d, &gpus[count]);
        if (result != CVP_CUDA_SUCCESS) break;
    }
    if (result != CVP_CUDA_SUCCESS)
        snprintf(reason, sizeof reason, "GPU %d does not answer: error %u of the CUDA driver",
                 count, result);
    else
        snprintf(reason, sizeof reason, "the CUDA driver sees %d GPUs", all);
}

int cvp_gpu_count(const char **why)
{
    /* A child that was forked while another thread looked has no driver, and asks `once` nothing.
     */
    if (!cvp_driver_get(why)) return 0;
    pthread_once(&once, look);
    *why = reason;
    return count;
}

const struct cvp_gpu *cvp_gpu_get(int ordinal, const char **why)
{
    const int all = cvp_gpu_count(why);
    return ordinal >= 0 && ordinal < all ? &gpus[ordinal] : NULL;
}

void cvp_gpu_describe(struct cvp_text *value, struct cvp_text *why)
{
    const char *text;
    const int all = cvp_gpu_count(&text);
    if (all == 0) {
        cvp_text_add(value, "none");
        cvp_text_add(why, "%s", text);
    }
    for (int i = 0; i < all; i++)
        cvp_text_add(value, "%s%s (compute capability %d.%d, %d multiprocessors, %zu MiB)",
                     i ? "; " : "", gpus[i].name, gpus[i].major, gpus[i].minor, gpus[i].processors,
                     gpus[i].memory >> 20);
}
