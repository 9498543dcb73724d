/* Tensors of tests. */
#include "box.h"

#include <math.h>
#include <string.h>

#include "tests/cases/element.h"

#define CANARY 0xA5
#define MARGIN 64

/* Where logical index i (0..4 for n c d h w) is in the tensor's dimensions; -1: it is not. */
static int dim_of(const struct box *b, int i)
{
    if (b->axes == 0) return i == 1 ? 0 : -1;
    if (i == 0) return 0;
    if (i == 1) return b->channels_last ? b->axes + 1 : 1;
    int axis = i - 2 - (3 - b->axes); /* among the given ones */
    return axis < 0 ? -1 : axis + (b->channels_last ? 1 : 2);
}

/* Strides from the fastest dimension up; the order of dimensions is shuffled where gaps may be. */
static int64_t set_strides(struct box *b, struct rng *r, int gaps)
{
    int order[CONVOP_MAX_DIMS], n = b->tensor.ndim;
    for (int i = 0; i < n; i++) order[i] = n - 1 - i;
    if (gaps && rng_chance(r, 50))
        for (int i = n - 1; i > 0; i--) {
            int j = (int)rng_int(r, 0, i), t = order[i];
            order[i] = order[j];
            order[j] = t;
        }
    int64_t span = 1;
    for (int i = 0; i < n; i++) {
        int d = order[i];
        if (gaps) span += rng_int(r, 0, 2);
        b->strides[d] = span;
        span *= b->shape[d] > 0 ? b->shape[d] : 1;
        if (b->shape[d] == 1 && gaps) b->strides[d] = rng_int(r, 0, 99); /* means nothing */
    }
    return span;
}

void box_create(struct box *b, struct rng *r, int type, int axes, int channels_last,
                const int64_t ncdhw[5], int gaps, int skew)
{
    memset(b, 0, sizeof *b);
    b->axes = axes;
    b->channels_last = channels_last;
    b->tensor.ndim = axes == 0 ? 1 : axes + 2;
    for (int i = 0; i < 5; i++)
        if (dim_of(b, i) >= 0) b->shape[dim_of(b, i)] = ncdhw[i];
    size_t size = (size_t)type / 8;
    int64_t span = set_strides(b, r, gaps);
    b->bytes = 2 * MARGIN + ((size_t)span + (size_t)skew) * size;
    b->memory = malloc(b->bytes);
    b->owned = calloc(b->bytes, 1);
    memset(b->memory, CANARY, b->bytes);
    b->tensor.data = b->memory + MARGIN;
    b->tensor.byte_offset = (uint64_t)skew * size;
    b->tensor.device.device_type = kDLCPU;
    b->tensor.dtype.code = type == BOX_BF16 ? kDLBfloat : kDLFloat;
    b->tensor.dtype.bits = (uint8_t)(size * 8);
    b->tensor.dtype.lanes = 1;
    b->tensor.shape = b->shape;
    b->tensor.strides = !gaps && rng_chance(r, 50) ? NULL : b->strides;
    box_fill_value(b, NAN);
}

void box_destroy(struct box *b)
{
    free(b->memory);
    free(b->owned);
    b->memory = b->owned = NULL;
}

void box_sizes(const struct box *b, int64_t ncdhw[5])
{
    for (int i = 0; i < 5; i++) {
        int d = dim_of(b, i);
        ncdhw[i] = d < 0 ? 1 : b->shape[d];
    }
}

static size_t offset(const struct box *b, const int64_t at[5])
{
    int64_t element = 0;
    for (int i = 0; i < 5; i++) {
        int d = dim_of(b, i);
        if (d >= 0) element += at[i] * b->strides[d];
    }
    return MARGIN + b->tensor.byte_offset + (size_t)element * (b->tensor.dtype.bits / 8);
}

double box_get(const struct box *b, const int64_t at[5])
{
    return element_get(b->tensor.dtype, b->memory + offset(b, at));
}

void box_set(struct box *b, const int64_t at[5], double value)
{
    size_t o = offset(b, at);
    element_set(b->tensor.dtype, b->memory + o, value);
    memset(b->owned + o, 1, element_size(b->tensor.dtype));
}

void box_fill_int(struct box *b, struct rng *r, int64_t low, int64_t high)
{
    int64_t sizes[5], at[5];
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) box_set(b, at, (double)rng_int(r, low, high));
}

void box_fill_real(struct box *b, struct rng *r)
{
    int64_t sizes[5], at[5];
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) box_set(b, at, rng_real(r, -1, 1));
}

void box_fill_value(struct box *b, double value)
{
    int64_t sizes[5], at[5];
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) box_set(b, at, value);
}

int box_canaries_whole(const struct box *b)
{
    for (size_t i = 0; i < b->bytes; i++)
        if (!b->owned[i] && b->memory[i] != CANARY) return 0;
    return 1;
}

unsigned char *box_snapshot(const struct box *b)
{
    unsigned char *copy = malloc(b->bytes);
    memcpy(copy, b->memory, b->bytes);
    return copy;
}

int box_unchanged(const struct box *b, unsigned char *snapshot)
{
    int same = memcmp(b->memory, snapshot, b->bytes) == 0;
    free(snapshot);
    return same;
}
