/* Arrays of our own: what create checks and gives, references, hooks, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "convop/array.h"
#include "convop/registry.h"
#include "src/common/alloc.h"
#include "tests/support/producer.h"

static const DLDataType f32 = {kDLFloat, 32, 1};

static void zeros_aligned_compact(void **state)
{
    (void)state;
    convop_array *array;
    DLTensor *t;
    assert_int_equal(convop_array_create(NULL, f32, 3, (int64_t[]){2, 3, 5}, &array), CONVOP_OK);
    assert_int_equal(convop_array_writable(array, &t), CONVOP_OK);
    assert_ptr_equal(t, convop_array_view(array));
    assert_int_equal((uintptr_t)t->data % 64, 0);
    assert_int_equal(t->byte_offset, 0);
    assert_int_equal(t->ndim, 3);
    assert_int_equal(t->device.device_type, kDLCPU);
    assert_memory_equal(t->shape, ((int64_t[]){2, 3, 5}), sizeof(int64_t[3]));
    assert_memory_equal(t->strides, ((int64_t[]){15, 5, 1}), sizeof(int64_t[3]));
    for (int i = 0; i < 30; i++) assert_true(((float *)t->data)[i] == 0.0f);
    convop_array_release(&array);
    assert_null(array);
}

/* A buffer that comes back from the pool holds what was in it. */
static void zeros_again_after_use(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        convop_array *array;
        DLTensor *t;
        assert_int_equal(convop_array_create(NULL, f32, 1, (int64_t[]){4096}, &array), CONVOP_OK);
        assert_int_equal(convop_array_writable(array, &t), CONVOP_OK);
        for (int i = 0; i < 4096; i++) assert_true(((float *)t->data)[i] == 0.0f);
        memset(t->data, 0x77, 4096 * sizeof(float));
        convop_array_release(&array);
    }
}

static void scalar_and_empty(void **state)
{
    (void)state;
    convop_array *array;
    assert_int_equal(convop_array_create(NULL, f32, 0, NULL, &array), CONVOP_OK);
    assert_null(convop_array_view(array)->shape);
    assert_null(convop_array_view(array)->strides);
    assert_true(*(float *)convop_array_view(array)->data == 0.0f);
    convop_array_release(&array);

    assert_int_equal(convop_array_create(NULL, f32, 3, (int64_t[]){0, 3, 4}, &array), CONVOP_OK);
    assert_null(convop_array_view(array)->data);
    assert_memory_equal(convop_array_view(array)->strides, ((int64_t[]){12, 4, 1}),
                        sizeof(int64_t[3]));
    convop_array_release(&array);
}

static void create_refuses(void **state)
{
    (void)state;
    static const int64_t one[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const int64_t huge[2] = {INT64_MAX / 2, 3}, negative[2] = {2, -1};
    static const struct {
        DLDataType dtype;
        int ndim;
        const int64_t *shape;
        const char *mention;
    } cases[] = {
        {{kDLFloat, 32, 1}, -1, one, "ndim"},        {{kDLFloat, 32, 1}, 9, one, "ndim"},
        {{kDLFloat, 32, 1}, INT32_MAX, one, "ndim"}, {{kDLFloat, 32, 1}, 2, NULL, "shape"},
        {{kDLFloat, 32, 1}, 2, negative, "-1"},      {{kDLFloat, 32, 1}, 2, huge, "overflow"},
        {{kDLFloat, 12, 1}, 2, one, "12"},           {{kDLFloat, 32, 4}, 2, one, "lanes"},
    };
    uint64_t live = cvp_alloc_live();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        convop_array *array = (convop_array *)&live;
        assert_int_equal(
            convop_array_create(NULL, cases[i].dtype, cases[i].ndim, cases[i].shape, &array),
            CONVOP_E_INVALID);
        assert_null(array);
        assert_non_null(strstr(convop_last_error(), "convop_array_create"));
        assert_non_null(strstr(convop_last_error(), cases[i].mention));
    }
    assert_int_equal(convop_array_create(NULL, f32, 0, NULL, NULL), CONVOP_E_INVALID);
    assert_int_equal(cvp_alloc_live(), live);
}

static void null_is_accepted(void **state)
{
    (void)state;
    convop_array *none = NULL;
    DLTensor *t = (DLTensor *)&none;
    DLManagedTensor *managed = (DLManagedTensor *)&none;
    struct DLManagedTensorVersioned *versioned = (struct DLManagedTensorVersioned *)&none;
    convop_array_release(NULL);
    convop_array_release(&none);
    assert_null(convop_array_retain(NULL));
    assert_null(convop_array_view(NULL));
    assert_int_equal(convop_array_writable(NULL, &t), CONVOP_E_INVALID);
    assert_null(t);
    assert_int_equal(convop_to_dlpack(NULL, &managed), CONVOP_E_INVALID);
    assert_null(managed);
    assert_int_equal(convop_to_dlpack_versioned(NULL, &versioned), CONVOP_E_INVALID);
    assert_null(versioned);
    assert_int_equal(convop_array_create(NULL, f32, 0, NULL, &none), CONVOP_OK);
    assert_int_equal(convop_array_writable(none, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_to_dlpack(none, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_to_dlpack_versioned(none, NULL), CONVOP_E_INVALID);
    convop_array_release(&none);
}

struct hook_log {
    int allocated, released, refuse;
    size_t bytes;
};

static void *hook_alloc(void *user, size_t bytes, size_t alignment)
{
    struct hook_log *log = user;
    if (log->refuse) return NULL;
    log->allocated++;
    log->bytes = bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void hook_release(void *user, void *memory, size_t bytes)
{
    struct hook_log *log = user;
    assert_int_equal(bytes, log->bytes);
    log->released++;
    free(memory);
}

static void memory_from_hooks_outlives_the_context(void **state)
{
    (void)state;
    struct hook_log log = {0};
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1;
    options.allocator = (convop_allocator){hook_alloc, hook_release, &log};
    convop_context *context;
    assert_int_equal(convop_context_create(&options, &context), CONVOP_OK);
    convop_array *array;
    assert_int_equal(convop_array_create(context, f32, 1, (int64_t[]){7}, &array), CONVOP_OK);
    assert_int_equal(log.allocated, 1);
    log.refuse = 1;
    convop_array *refused;
    uint64_t live = cvp_alloc_live();
    assert_int_equal(convop_array_create(context, f32, 1, (int64_t[]){7}, &refused),
                     CONVOP_E_NO_MEMORY);
    assert_null(refused);
    assert_int_equal(cvp_alloc_live(), live);
    convop_context_destroy(&context);
    convop_array_release(&array);
    assert_int_equal(log.released, 1);
}

/* Every allocation of a life is failed once; what was there before is then as it was. */
static void no_memory_anywhere(void **state)
{
    (void)state;
    static float buffer[6];
    int failures = 0;
    for (uint64_t n = 1;; n++) {
        struct producer_log log = {0};
        const struct producer_tensor described = {{kDLCPU, 0}, f32,    2, (int64_t[]){2, 3},
                                                  NULL,        buffer, 0};
        DLManagedTensor *in = producer_make(&described, &log), *out = NULL;
        struct DLManagedTensorVersioned *versioned = NULL;
        convop_array *made = NULL, *imported = NULL;
        uint64_t live = cvp_alloc_live();
        cvp_alloc_fail_at(n);
        int refused = 0;
        refused += convop_array_create(NULL, f32, 1, (int64_t[]){9}, &made) != CONVOP_OK;
        refused += convop_from_dlpack(in, &imported) != CONVOP_OK;
        if (imported != NULL) {
            refused += convop_to_dlpack(imported, &out) != CONVOP_OK;
            refused += convop_to_dlpack_versioned(imported, &versioned) != CONVOP_OK;
        }
        uint64_t calls = cvp_alloc_calls();
        cvp_alloc_fail_at(0);
        assert_int_equal(refused, calls >= n);
        if (refused) assert_non_null(strstr(convop_last_error(), "memory"));
        failures += refused;
        convop_array_release(&made);
        if (imported == NULL) {
            assert_int_equal(atomic_load(&log.deleted), 0);
            in->deleter(in);
        }
        if (out != NULL) out->deleter(out);
        if (versioned != NULL) versioned->deleter(versioned);
        convop_array_release(&imported);
        assert_int_equal(atomic_load(&log.deleted), 1);
        assert_int_equal(cvp_alloc_live(), live);
        if (!refused) break;
    }
    /* The object and its buffer, the imported object, two exports. */
    assert_int_equal(failures, 5);
}

enum { THREADS = 4, ROUNDS = 2000 };

struct user {
    convop_array *array;
    int slot;
};

/* Writes a slot of its own through its reference, up to the drop. */
static void *use_and_drop(void *arg)
{
    struct user *user = arg;
    float *slot = (float *)convop_array_view(user->array)->data + user->slot;
    for (int i = 0; i < ROUNDS; i++) {
        convop_array *more = convop_array_retain(user->array);
        struct DLManagedTensorVersioned *out = NULL;
        if (i % 16 == 0 && convop_to_dlpack_versioned(more, &out) == CONVOP_OK) out->deleter(out);
        convop_array_release(&more);
    }
    *slot = 1.0f;
    convop_array_release(&user->array);
    return NULL;
}

static atomic_int deleted;

/* Reads and frees what the threads wrote: a race, if their drops did not come before. */
static void sum_up_and_delete(DLManagedTensor *self)
{
    float sum = 0.0f, *slots = self->dl_tensor.data;
    for (int i = 0; i < THREADS; i++) sum += slots[i];
    if (sum == (float)THREADS) atomic_fetch_add(&deleted, 1);
    free(slots);
    free(self);
}

static void threads_drop_references(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        int64_t shape[] = {THREADS};
        DLManagedTensor *managed = calloc(1, sizeof(*managed));
        assert_non_null(managed);
        managed->dl_tensor = (DLTensor){.data = calloc(THREADS, sizeof(float)),
                                        .device = {kDLCPU, 0},
                                        .ndim = 1,
                                        .dtype = f32,
                                        .shape = shape};
        managed->deleter = sum_up_and_delete;
        atomic_store(&deleted, 0);
        convop_array *array;
        assert_int_equal(convop_from_dlpack(managed, &array), CONVOP_OK);
        pthread_t thread[THREADS];
        struct user user[THREADS];
        for (int i = 0; i < THREADS; i++) {
            user[i] = (struct user){convop_array_retain(array), i};
            assert_int_equal(pthread_create(&thread[i], NULL, use_and_drop, &user[i]), 0);
        }
        convop_array_release(&array);
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        assert_int_equal(atomic_load(&deleted), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_aligned_compact),
        cmocka_unit_test(zeros_again_after_use),
        cmocka_unit_test(scalar_and_empty),
        cmocka_unit_test(create_refuses),
        cmocka_unit_test(null_is_accepted),
        cmocka_unit_test(memory_from_hooks_outlives_the_context),
        cmocka_unit_test(no_memory_anywhere),
        cmocka_unit_test(threads_drop_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
