/* Tensors of the cases. */
#include "tests/cases/tensor.h"

#include <string.h>

#include "tests/cases/element.h"
#include "tests/cases/fills.h"
#include "tests/cases/json.h"

/* Offset of an element from the one at the origin, in elements. */
static int64_t element_at(const struct tensor *t, int64_t i)
{
    int64_t at = 0;
    for (int d = t->dl.ndim - 1; d >= 0; d--) {
        at += i % t->shape[d] * t->strides[d];
        i /= t->shape[d];
    }
    return at;
}

static unsigned char *address(const struct tensor *t, int64_t i)
{
    return (unsigned char *)t->dl.data + t->dl.byte_offset +
           element_at(t, i) * (int64_t)element_size(t->dl.dtype);
}

void tensor_create(struct tensor *t, DLDataType type, int ndim, const int64_t *shape,
                   const int64_t *strides, uint64_t byte_offset, enum placement placement)
{
    memset(t, 0, sizeof *t);
    t->count = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->strides[d] = strides != NULL ? strides[d] : t->count;
        t->count *= shape[d];
    }
    int64_t last = 0;
    for (int d = 0; d < ndim && t->count > 0; d++)
        if (t->strides[d] > 0) last += (shape[d] - 1) * t->strides[d];
    size_t bytes = byte_offset + (t->count > 0 ? (size_t)(last + 1) * element_size(type) : 0);
    t->memory = guard_create(bytes, placement == AT_END);
    memset(t->memory.data, 0xff, bytes);
    t->dl = (DLTensor){.data = t->memory.data,
                       .device = {kDLCPU, 0},
                       .ndim = ndim,
                       .dtype = type,
                       .shape = t->shape,
                       .strides = strides != NULL ? t->strides : NULL,
                       .byte_offset = byte_offset};
}

void tensor_from_json(struct tensor *t, const json_t *input, enum placement placement)
{
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
    int ndim = json_ints(json_object_get(input, "shape"), shape, CONVOP_MAX_DIMS);
    int has_strides = json_ints(json_object_get(input, "strides"), strides, CONVOP_MAX_DIMS) >= 0;
    if (ndim < 0) abort();
    tensor_create(t, element_type(json_string_value(json_object_get(input, "dtype"))), ndim, shape,
                  has_strides ? strides : NULL,
                  (uint64_t)json_integer_value(json_object_get(input, "byte_offset")), placement);
    double *values = fill_values(json_object_get(input, "fill"), ndim, shape, t->count);
    for (int64_t i = 0; i < t->count; i++) tensor_set(t, i, values[i]);
    free(values);
}

void tensor_destroy(struct tensor *t)
{
    if (t->memory.pages != NULL) guard_destroy(&t->memory);
    free(t->snapshot);
    t->snapshot = NULL;
}

double tensor_get(const struct tensor *t, int64_t i)
{
    return element_get(t->dl.dtype, address(t, i));
}

void tensor_set(struct tensor *t, int64_t i, double value)
{
    element_set(t->dl.dtype, address(t, i), value);
}

void tensor_fill(struct tensor *t, double value)
{
    for (int64_t i = 0; i < t->count; i++) tensor_set(t, i, value);
}

double *tensor_values(const struct tensor *t)
{
    double *values = calloc((size_t)t->count + 1, sizeof *values);
    if (values == NULL) abort();
    for (int64_t i = 0; i < t->count; i++) values[i] = tensor_get(t, i);
    return values;
}

void tensor_remember(struct tensor *t)
{
    free(t->snapshot);
    t->snapshot = malloc(t->memory.bytes + 1);
    if (t->snapshot == NULL) abort();
    memcpy(t->snapshot, t->memory.data, t->memory.bytes);
}

int tensor_same(const struct tensor *t)
{
    return memcmp(t->snapshot, t->memory.data, t->memory.bytes) == 0;
}

int tensor_gaps_same(const struct tensor *t)
{
    unsigned char *owned = calloc(t->memory.bytes + 1, 1), *bytes = t->memory.data;
    if (owned == NULL) abort();
    for (int64_t i = 0; i < t->count; i++)
        memset(owned + (address(t, i) - bytes), 1, element_size(t->dl.dtype));
    int same = 1;
    for (size_t i = 0; i < t->memory.bytes; i++) same &= owned[i] || bytes[i] == t->snapshot[i];
    free(owned);
    return same;
}
