/* Keys of plans; see memo.h. They are built in each call, so all of it is about few instructions:
 * words in a row, no loop over what is not there. */
#include <stdatomic.h>
#include <string.h>

#include "src/engine/context.h"
#include "src/operator/gemm/blas.h"
#include "src/operator/memo.h"

#define STRIPES 8 /* groups of threads with places of their own */

void cvp_memo_key_add_params(struct cvp_memo_key *key, const void *params)
{
    size_t size = key->op->params_size, count = (size + 7) / 8;
    if (count > CVP_MEMO_KEY_WORDS - key->count) {
        key->is_bad = 1;
        return;
    }
    if (count > 0) key->words[key->count + count - 1] = 0;
    memcpy(key->words + key->count, params, size);
    key->count += count;
}

static void add_tensor(struct cvp_memo_key *key, const DLTensor *t)
{
    if (!t) {
        cvp_memo_key_add(key, 0);
        return;
    }
    const size_t ndim = (size_t)t->ndim, most = 2 + 2 * CONVOP_MAX_DIMS;
    if (ndim > CONVOP_MAX_DIMS || (ndim > 0 && !t->shape) ||
        key->count > CVP_MEMO_KEY_WORDS - most) {
        key->is_bad = 1;
        return;
    }
    uint64_t *at = key->words + key->count;
    *at++ = 1 | (uint64_t)(t->strides != NULL) << 1 | (uint64_t)ndim << 8 |
            (uint64_t)t->dtype.code << 16 | (uint64_t)t->dtype.bits << 24 |
            (uint64_t)t->dtype.lanes << 32;
    *at++ = (uint64_t)(uint32_t)t->device.device_type << 32 | (uint32_t)t->device.device_id;
    for (size_t i = 0; i < ndim; i++) *at++ = (uint64_t)t->shape[i];
    if (t->strides)
        for (size_t i = 0; i < ndim; i++) *at++ = (uint64_t)t->strides[i];
    key->count = (size_t)(at - key->words);
}

/* A sum of products of neighbours: the multiplications do not wait for each other. */
static uint64_t hash_of(const uint64_t *words, size_t count, uint64_t seed)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t sum = seed ^ count, a = odd, b = odd << 1 | 1;
    for (size_t i = 0; i + 1 < count; i += 2, a += odd, b -= odd)
        sum += (words[i] ^ a) * (words[i + 1] ^ b);
    if (count & 1) sum += words[count - 1] * a;
    sum ^= sum >> 32;
    sum *= odd;
    return sum ^ sum >> 29;
}

/* Threads look at places of their own as long as there are few of them: two that run one problem
 * would hand the cache line of its word to and fro. */
static unsigned stripe(void)
{
    static atomic_uint num_threads;
    static _Thread_local unsigned number; /* from 1 on */
    if (number == 0) number = atomic_fetch_add_explicit(&num_threads, 1, memory_order_relaxed) + 1;
    return number % STRIPES;
}

void cvp_memo_key_end(struct cvp_memo_key *key, const struct cvp_call *call)
{
    const convop_op_args *a = &call->args;
    if ((unsigned)a->num_inputs > CVP_MAX_ARGS || (unsigned)a->num_outputs > CVP_MAX_ARGS ||
        a->num_inputs + a->num_outputs > CVP_MEMO_MAX_TENSORS || a->constants) {
        key->is_bad = 1;
        return;
    }
    cvp_memo_key_add(key, a->context->serial);
    cvp_memo_key_add(key, a->workspace_limit);
    cvp_memo_key_add(key, (uint64_t)a->num_inputs | (uint64_t)a->num_outputs << 8 |
                              (uint64_t)call->optional_inputs << 16 |
                              (uint64_t)(uint32_t)a->is_train << 32);
    uint64_t requests = 0;
    for (int i = 0; i < a->num_outputs; i++) requests = requests << 2 | (uint64_t)a->requests[i];
    cvp_memo_key_add(key, requests | (uint64_t)cvp_blas_state() << 32);
    for (int i = 0; i < a->num_inputs; i++) add_tensor(key, a->inputs[i]);
    for (int i = 0; i < a->num_outputs; i++) add_tensor(key, a->outputs[i]);
    key->hash = hash_of(key->words, key->count, (uintptr_t)key->op + stripe());
}
