/* Descriptors of cuDNN's backend API: attributes as they were set. One that is referred to stays.
 */
#include <string.h>

#include "tests/standin/cudnn.h"

size_t standin_type_size(unsigned type)
{
    switch (type) {
    case CVP_CUDNN_TYPE_CHAR:
    case CVP_CUDNN_TYPE_BOOLEAN: return 1;
    case CVP_CUDNN_TYPE_HANDLE:
    case CVP_CUDNN_TYPE_INT64:
    case CVP_CUDNN_TYPE_DOUBLE:
    case CVP_CUDNN_TYPE_VOID_PTR:
    case CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    default: return 4;
    }
}

const struct attribute *standin_attribute(const struct descriptor *d, unsigned name)
{
    const struct attribute *a = d->attributes;
    while (a && a->name != name) a = a->next;
    return a;
}

int64_t standin_int(const struct descriptor *d, unsigned name, int64_t fallback)
{
    const struct attribute *a = standin_attribute(d, name);
    if (!a || a->count < 1) return fallback;
    switch (standin_type_size(a->type)) {
    case 1: return *(const char *)a->values;
    case 8: return *(const int64_t *)a->values;
    default: return *(const int32_t *)a->values;
    }
}

double standin_number(const struct descriptor *d, unsigned name, double fallback)
{
    const struct attribute *a = standin_attribute(d, name);
    if (!a || a->count < 1) return fallback;
    return a->type == CVP_CUDNN_TYPE_DOUBLE ? *(const double *)a->values
                                            : (double)*(const float *)a->values;
}

struct descriptor *standin_child(const struct descriptor *d, unsigned name, int64_t i)
{
    const struct attribute *a = standin_attribute(d, name);
    if (!a || i >= a->count || a->type != CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR) return NULL;
    return ((struct descriptor *const *)a->values)[i];
}

struct descriptor *standin_descriptor(void *handle)
{
    pthread_mutex_lock(&standin_lock);
    standin_expect(STANDIN_DESCRIPTOR, handle);
    pthread_mutex_unlock(&standin_lock);
    return handle;
}

const struct descriptor *standin_operations(const struct descriptor *d)
{
    static const unsigned ways[] = {
        CVP_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CVP_CUDNN_ATTR_ENGINECFG_ENGINE,
        CVP_CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CVP_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH};
    while (d && d->type != CVP_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        const struct descriptor *next = d->origin;
        for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !next; i++)
            next = standin_child(d, ways[i], 0);
        d = next;
    }
    return d;
}

static void release(struct descriptor *d);

static void release_attribute(struct attribute *a)
{
    if (a->type == CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < a->count; i++) release(((struct descriptor **)a->values)[i]);
    free(a->values);
    free(a);
}

/* With the lock, as all that counts references. */
static void release(struct descriptor *d)
{
    if (!d || --d->refs > 0) return;
    for (struct attribute *a = d->attributes, *next; a; a = next) {
        next = a->next;
        release_attribute(a);
    }
    release(d->origin);
    free(d->json);
    free(d);
}

void standin_set_origin(struct descriptor *d, struct descriptor *origin)
{
    pthread_mutex_lock(&standin_lock);
    origin->refs++;
    release(d->origin);
    d->origin = origin;
    pthread_mutex_unlock(&standin_lock);
}

static void keep(struct descriptor *d, unsigned name, unsigned type, int64_t count,
                 const void *values)
{
    const size_t bytes = (size_t)count * standin_type_size(type);
    struct attribute *a = calloc(1, sizeof *a), **at = &d->attributes;
    if (!a || !(a->values = malloc(bytes + 1))) abort();
    a->name = name;
    a->type = type;
    a->count = count;
    if (bytes) memcpy(a->values, values, bytes);
    ((char *)a->values)[bytes] = '\0';
    pthread_mutex_lock(&standin_lock);
    for (int64_t i = 0; type == CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        ((struct descriptor **)a->values)[i]->refs++;
    while (*at && (*at)->name != name) at = &(*at)->next;
    if (*at) {
        struct attribute *old = *at;
        a->next = old->next;
        release_attribute(old);
    }
    *at = a;
    pthread_mutex_unlock(&standin_lock);
}

/* ---- cuDNN's calls --------------------------------------------------------------------------- */

unsigned cudnnBackendCreateDescriptor(unsigned type, void **descriptor)
{
    ENTER();
    struct descriptor *d = calloc(1, sizeof *d);
    if (!d) abort();
    d->type = type;
    d->refs = 1;
    d->device = -1;
    const unsigned status = standin_planner()->create(d);
    if (status) {
        free(d);
        return status;
    }
    pthread_mutex_lock(&standin_lock);
    standin_add(STANDIN_DESCRIPTOR, d);
    pthread_mutex_unlock(&standin_lock);
    *descriptor = d;
    return CVP_CUDNN_STATUS_SUCCESS;
}

unsigned cudnnBackendDestroyDescriptor(void *descriptor)
{
    const unsigned failed = standin_enter(__func__);
    struct descriptor *d = standin_descriptor(descriptor);
    standin_planner()->destroy(d);
    pthread_mutex_lock(&standin_lock);
    standin_remove(STANDIN_DESCRIPTOR, d);
    release(d);
    pthread_mutex_unlock(&standin_lock);
    return failed;
}

unsigned cudnnBackendSetAttribute(void *descriptor, unsigned name, unsigned type, int64_t count,
                                  const void *values)
{
    ENTER();
    struct descriptor *d = standin_descriptor(descriptor);
    if (d->is_final) standin_misuse(NULL, "the descriptor was finalised");
    for (int64_t i = 0; type == CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (!standin_descriptor(((void *const *)values)[i])->is_final)
            standin_misuse(NULL, "the descriptor that it refers to was not finalised");
    const int device = count > 0 ? standin_device_of(name, type, values) : -1;
    if (device >= 0) d->device = device;
    char *json = NULL;
    if (name == CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
        json = standin_plan_json(values, count);
        if (!json) return CVP_CUDNN_STATUS_NOT_SUPPORTED;
    }
    const unsigned status = json
                                ? standin_planner()->set(d, name, type, (int64_t)strlen(json), json)
                                : standin_planner()->set(d, name, type, count, values);
    free(json);
    if (status == CVP_CUDNN_STATUS_SUCCESS) keep(d, name, type, count, values);
    return status;
}

unsigned cudnnBackendFinalize(void *descriptor)
{
    ENTER();
    struct descriptor *d = standin_descriptor(descriptor);
    const unsigned status = d->type == CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
                                ? standin_finalize_plan(d)
                                : standin_planner()->finalize(d);
    if (status != CVP_CUDNN_STATUS_SUCCESS) return status;
    d->is_final = 1;
    pthread_mutex_lock(&standin_lock);
    if (d->type == CVP_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) standin_count("heuristics");
    if (d->type == CVP_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) standin_count("plans");
    pthread_mutex_unlock(&standin_lock);
    return status;
}

static unsigned give(const void *from, size_t size, int64_t has, int64_t wanted, int64_t *count,
                     void *values)
{
    const int64_t n = wanted < has ? wanted : has;
    if (count) *count = has;
    if (values && n > 0) memcpy(values, from, (size_t)n * size);
    return CVP_CUDNN_STATUS_SUCCESS;
}

unsigned cudnnBackendGetAttribute(void *descriptor, unsigned name, unsigned type, int64_t wanted,
                                  int64_t *count, void *values)
{
    ENTER();
    struct descriptor *d = standin_descriptor(descriptor);
    if (!d->is_final) standin_misuse(NULL, "the descriptor was not finalised");
    if (name == CVP_CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        return give(&d->workspace, sizeof d->workspace, 1, wanted, count, values);
    if (name == CVP_CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
        return give(d->json, 1, (int64_t)strlen(d->json), wanted, count, values);
    if (type == CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR && values)
        for (int64_t i = 0; i < wanted; i++) (void)standin_descriptor(((void *const *)values)[i]);
    return standin_planner()->get(d, name, type, wanted, count, values);
}
