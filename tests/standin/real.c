/* The machine's cuDNN as a planner: every descriptor has a twin there. What names a handle, of
 * which there can be none without a GPU, is told by the properties of the handle's device. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cudnn.h"

/* What it keeps to the end is its own: a leak checker, where there is one, does not count it. */
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

static void begin(void)
{
    if (__lsan_disable) __lsan_disable();
}

static unsigned end(unsigned status)
{
    if (__lsan_enable) __lsan_enable();
    return status;
}
#define REAL(call) (begin(), end(call))

static const struct planner real_planner;
static struct cvp_cudnn real;
static int plans_here;

static void open_real(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
#define CVP_CUDNN(member, symbol, result, parameters) {#symbol, offsetof(struct cvp_cudnn, member)},
#include "src/cuda/cudnn_list.h"
#undef CVP_CUDNN
    };
    begin();
    void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    (void)end(0);
    for (size_t i = 0; library && i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) library = NULL;
        memcpy((char *)&real + symbols[i].offset, &address, sizeof address);
    }
    if (!library || real.version() < CVP_CUDNN_OLDEST) memset(&real, 0, sizeof real);
}

const struct planner *standin_planner_real(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_real);
    return real.version ? &real_planner : NULL;
}

const struct planner *standin_planner(void)
{
    const struct planner *found =
        plans_here || getenv("STANDIN_PLANS_HERE") ? NULL : standin_planner_real();
    return found ? found : &standin_planner_here;
}

void standin_plan_here(int yes)
{
    plans_here = yes;
}

int standin_has_real_cudnn(void)
{
    return standin_planner_real() != NULL;
}

static size_t version(void)
{
    return real.version();
}

/* A pack holds addresses, which only mean something here. */
static int is_own(const struct descriptor *d)
{
    return d->type == CVP_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
}

static unsigned create(struct descriptor *d)
{
    return is_own(d) ? 0 : REAL(real.descriptor_create(d->type, &d->real));
}

static void destroy(struct descriptor *d)
{
    if (d->real) (void)REAL(real.descriptor_destroy(d->real));
    d->real = NULL;
}

static unsigned set_properties(void *descriptor, int device)
{
    const char *json = standin_properties(device);
    return REAL(real.attribute_set(descriptor, CVP_CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                   CVP_CUDNN_TYPE_CHAR, (int64_t)strlen(json), json));
}

/* Plans of a handle are plans of the properties of its device, which stay for the process. */
static unsigned set_plan_device(void *plan, int device)
{
    static void *properties[STANDIN_DEVICES];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    unsigned status = 0;
    pthread_mutex_lock(&lock);
    if (!properties[device]) {
        void *d = NULL;
        status = REAL(real.descriptor_create(CVP_CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d));
        if (!status) status = set_properties(d, device);
        if (!status) status = REAL(real.descriptor_finalize(d));
        if (!status) properties[device] = d;
    }
    pthread_mutex_unlock(&lock);
    if (status) return status;
    return REAL(real.attribute_set(plan, CVP_CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                   CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &properties[device]));
}

static unsigned set_children(struct descriptor *d, unsigned name, int64_t count, const void *values)
{
    void **twins = malloc((size_t)count * sizeof(void *) + 1);
    if (!twins) abort();
    for (int64_t i = 0; i < count; i++) twins[i] = ((struct descriptor *const *)values)[i]->real;
    const unsigned status =
        REAL(real.attribute_set(d->real, name, CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, count, twins));
    free(twins);
    return status;
}

static unsigned set(struct descriptor *d, unsigned name, unsigned type, int64_t count,
                    const void *values)
{
    if (is_own(d)) return 0;
    if (d->type == CVP_CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR && d->device >= 0)
        return set_properties(d->real, d->device);
    if (type == CVP_CUDNN_TYPE_HANDLE)
        return name == CVP_CUDNN_ATTR_EXECUTION_PLAN_HANDLE ? set_plan_device(d->real, d->device)
                                                            : 0;
    if (type == CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR) return set_children(d, name, count, values);
    return REAL(real.attribute_set(d->real, name, type, count, values));
}

static unsigned finalize(struct descriptor *d)
{
    enum { MOST_JSON = 1 << 18 };
    if (is_own(d)) return 0;
    unsigned status = REAL(real.descriptor_finalize(d->real));
    if (status || d->type != CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return status;
    int64_t count = 0;
    status = REAL(real.attribute_get(d->real, CVP_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CVP_CUDNN_TYPE_INT64, 1, &count, &d->workspace));
    char *json = calloc(1, MOST_JSON + 1);
    if (!json) abort();
    if (!status)
        status = REAL(real.attribute_get(d->real, CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                         CVP_CUDNN_TYPE_CHAR, MOST_JSON, &count, json));
    d->json = realloc(json, strlen(json) + 1);
    return status;
}

static unsigned get(struct descriptor *d, unsigned name, unsigned type, int64_t wanted,
                    int64_t *count, void *values)
{
    if (is_own(d)) return CVP_CUDNN_STATUS_NOT_SUPPORTED;
    if (type != CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return REAL(real.attribute_get(d->real, name, type, wanted, count, values));
    if (!values || wanted < 1)
        return REAL(real.attribute_get(d->real, name, type, wanted, count, NULL));
    void **twins = malloc((size_t)wanted * sizeof(void *));
    int64_t got = 0;
    if (!twins) abort();
    for (int64_t i = 0; i < wanted; i++) twins[i] = ((struct descriptor **)values)[i]->real;
    const unsigned status = REAL(real.attribute_get(d->real, name, type, wanted, &got, twins));
    for (int64_t i = 0; !status && i < got && i < wanted; i++) {
        struct descriptor *part = ((struct descriptor **)values)[i];
        part->is_final = 1;
        standin_set_origin(part, d);
    }
    if (count) *count = got;
    free(twins);
    return status;
}

static void last_error(char *text, size_t size)
{
    real.last_error(text, size);
}

static const struct planner real_planner = {version,  create, destroy,   set,
                                            finalize, get,    last_error};
