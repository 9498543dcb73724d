/* Descriptors in a scope, and cuDNN's errors as sentences. */
#include "src/cuda/backend.h"

#include <inttypes.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/cuda/driver.h"

/* cuDNN's numbers come in thousands: 2 bad parameters, 3 not supported, 4 internal, 5 execution.
 * What it calls a bad parameter depends on sizes and layouts as much as what it does not support.
 */
static convop_status status_of(unsigned result)
{
    if (result == CVP_CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        result == CVP_CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        return CONVOP_E_NO_MEMORY;
    const unsigned kind = result / 1000;
    return kind == 2 || kind == 3 ? CONVOP_E_UNSUPPORTED : CONVOP_E_DEVICE;
}

convop_status cvp_cudnn_status(const struct cvp_cudnn *cudnn, unsigned result, const char *what)
{
    char said[300] = "";
    if (result == CVP_CUDNN_STATUS_SUCCESS) return CONVOP_OK;
    cudnn->last_error(said, sizeof said);
    said[sizeof said - 1] = '\0';
    cvp_text_one_line(said);
    size_t length = strlen(said);
    while (length > 0 && said[length - 1] == ' ') said[--length] = '\0';
    const char *name = cudnn->error_string(result);
    return convop_fail(status_of(result), "cuDNN: %s: %s%s%s", what, name ? name : "?",
                       length ? ": " : "", said);
}

struct cvp_backend cvp_backend_begin(const struct cvp_cudnn *cudnn)
{
    return (struct cvp_backend){.cudnn = cudnn, .status = CONVOP_OK};
}

/* The last first: a descriptor may refer to earlier ones. */
void cvp_backend_end(struct cvp_backend *b)
{
    while (b->count > 0) (void)b->cudnn->descriptor_destroy(b->made[--b->count]);
}

static void take(struct cvp_backend *b, unsigned result, const char *what)
{
    if (result != CVP_CUDNN_STATUS_SUCCESS) b->status = cvp_cudnn_status(b->cudnn, result, what);
}

void *cvp_backend_make(struct cvp_backend *b, unsigned type)
{
    void *made = NULL;
    if (b->status == CONVOP_OK && b->count == CVP_BACKEND_MOST)
        b->status = convop_fail(CONVOP_E_INTERNAL, "cuDNN: more than %d descriptors in a scope",
                                CVP_BACKEND_MOST);
    if (b->status != CONVOP_OK) return NULL;
    take(b, b->cudnn->descriptor_create(type, &made), "a descriptor");
    if (b->status != CONVOP_OK) return NULL;
    b->made[b->count++] = made;
    return made;
}

void cvp_backend_set(struct cvp_backend *b, void *descriptor, unsigned name, unsigned type,
                     int64_t count, const void *values)
{
    if (b->status == CONVOP_OK)
        take(b, b->cudnn->attribute_set(descriptor, name, type, count, values), "an attribute");
}

void cvp_backend_link(struct cvp_backend *b, void *descriptor, unsigned name, void *other)
{
    cvp_backend_set(b, descriptor, name, CVP_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

void cvp_backend_finalize(struct cvp_backend *b, void *descriptor, const char *what)
{
    if (b->status == CONVOP_OK) take(b, b->cudnn->descriptor_finalize(descriptor), what);
}

void *cvp_backend_keep(struct cvp_backend *b, void *descriptor)
{
    int n = 0;
    for (int i = 0; i < b->count; i++)
        if (b->made[i] != descriptor) b->made[n++] = b->made[i];
    b->count = n;
    return descriptor;
}

void cvp_backend_release(const struct cvp_cudnn *cudnn, void *descriptor)
{
    const char *why;
    if (descriptor && !cvp_driver_is_lost(&why)) (void)cudnn->descriptor_destroy(descriptor);
}

convop_status cvp_backend_text(const struct cvp_cudnn *cudnn, void *descriptor, unsigned name,
                               char **text)
{
    int64_t size = 0, got = 0;
    unsigned result = cudnn->attribute_get(descriptor, name, CVP_CUDNN_TYPE_CHAR, 0, &size, NULL);
    if (result != CVP_CUDNN_STATUS_SUCCESS) return cvp_cudnn_status(cudnn, result, "a text");
    char *t = size >= 0 ? cvp_malloc((size_t)size + 1) : NULL;
    if (!t)
        return convop_fail(CONVOP_E_NO_MEMORY, "cuDNN: no memory for a text of %" PRId64 " bytes",
                           size);
    result = cudnn->attribute_get(descriptor, name, CVP_CUDNN_TYPE_CHAR, size, &got, t);
    if (result != CVP_CUDNN_STATUS_SUCCESS) {
        cvp_free(t);
        return cvp_cudnn_status(cudnn, result, "a text");
    }
    t[got < size ? got : size] = '\0';
    cvp_text_one_line(t);
    *text = t;
    return CONVOP_OK;
}

int64_t cvp_backend_get(const struct cvp_cudnn *cudnn, void *descriptor, unsigned name,
                        unsigned type, int64_t most, void *values)
{
    int64_t count = 0;
    if (cudnn->attribute_get(descriptor, name, type, most, &count, values) !=
        CVP_CUDNN_STATUS_SUCCESS)
        return 0;
    return count;
}
