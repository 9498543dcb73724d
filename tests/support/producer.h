/* Tensors as a foreign framework hands them out: structs on the heap of both kinds, each with a
 * deleter that counts its calls and frees the struct itself, as DLPack demands. */
#ifndef TESTS_SUPPORT_PRODUCER_H
#define TESTS_SUPPORT_PRODUCER_H

#include "convop/array.h"
#include "src/common/dlpack_abi.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Memory to hand out: 0, 1, 2, ... after producer_fill(). */
static _Alignas(64) float producer_samples[64];

static inline void producer_fill(void)
{
    for (int i = 0; i < 64; i++) producer_samples[i] = (float)i;
}

/* What a deleter call leaves behind. */
struct producer_log {
    atomic_int deleted;
};

/* shape and strides are copied; strides may be NULL; data is the caller's. */
struct producer_tensor {
    DLDevice device;
    DLDataType dtype;
    int ndim;
    const int64_t *shape, *strides;
    void *data;
    uint64_t byte_offset;
};

/* (2, 3) of float32 on the CPU, compact: what most cases vary. */
static const int64_t producer_shape[16] = {2, 3}, producer_strides[16] = {3, 1};
static inline struct producer_tensor producer_plain(void)
{
    return (struct producer_tensor){{kDLCPU, 0},      {kDLFloat, 32, 1}, 2, producer_shape,
                                    producer_strides, producer_samples,  0};
}

struct producer_block {
    union {
        DLManagedTensor managed;
        struct DLManagedTensorVersioned versioned;
    } seen;
    int64_t shape[16], strides[16];
    struct producer_log *log;
};

static inline void producer_end(struct producer_block *block)
{
    atomic_fetch_add(&block->log->deleted, 1);
    /* Whoever looks afterwards shall notice, with and without a sanitizer. */
    memset(&block->seen, 0x5a, sizeof(block->seen));
    free(block);
}

static inline void producer_delete(DLManagedTensor *self)
{
    producer_end(self->manager_ctx);
}

static inline void producer_delete_versioned(struct DLManagedTensorVersioned *self)
{
    producer_end(self->manager_ctx);
}

static inline struct producer_block *producer_new(const struct producer_tensor *t,
                                                  struct producer_log *log, DLTensor *view)
{
    struct producer_block *block = calloc(1, sizeof(*block));
    if (block == NULL) abort();
    size_t n = t->ndim > 0 && t->ndim <= 16 ? (size_t)t->ndim : 0;
    block->log = log;
    *view = (DLTensor){.data = t->data,
                       .device = t->device,
                       .ndim = t->ndim,
                       .dtype = t->dtype,
                       .byte_offset = t->byte_offset};
    if (t->shape != NULL) view->shape = memcpy(block->shape, t->shape, n * sizeof(*t->shape));
    if (t->strides != NULL)
        view->strides = memcpy(block->strides, t->strides, n * sizeof(*t->strides));
    return block;
}

static inline DLManagedTensor *producer_make(const struct producer_tensor *t,
                                             struct producer_log *log)
{
    DLTensor view;
    struct producer_block *block = producer_new(t, log, &view);
    block->seen.managed = (DLManagedTensor){view, block, producer_delete};
    return &block->seen.managed;
}

static inline struct DLManagedTensorVersioned *
producer_make_versioned(const struct producer_tensor *t, struct producer_log *log, unsigned major,
                        unsigned minor, uint64_t flags)
{
    DLTensor view;
    struct producer_block *block = producer_new(t, log, &view);
    block->seen.versioned =
        (struct DLManagedTensorVersioned){.version = {.major = major, .minor = minor},
                                          .manager_ctx = block,
                                          .deleter = producer_delete_versioned,
                                          .flags = flags,
                                          .dl_tensor = view};
    return &block->seen.versioned;
}

/* The float32 element at a position of an array, found as a reader of its view finds it. */
static inline float producer_at(const convop_array *array, int64_t i, int64_t j, int64_t k)
{
    const DLTensor *t = convop_array_view(array);
    const int64_t index[3] = {i, j, k};
    int64_t offset = 0;
    for (int d = 0; d < t->ndim; d++) offset += index[d] * t->strides[d];
    return ((const float *)t->data)[offset];
}

#endif
