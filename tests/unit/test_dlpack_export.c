/* Arrays handed to others, and who calls whose deleter when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "convop/registry.h"
#include "src/common/alloc.h"
#include "tests/support/producer.h"

static int fill_samples(void **state)
{
    (void)state;
    producer_fill();
    return 0;
}

static void exported_strides_are_canonical(void **state)
{
    (void)state;
    const int64_t shape[] = {1, 77}, strides[] = {3, 1};
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLManagedTensor *old;
    struct DLManagedTensorVersioned *versioned;
    t.shape = shape, t.strides = strides;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_int_equal(convop_to_dlpack(array, &old), CONVOP_OK);
    assert_int_equal(convop_to_dlpack_versioned(array, &versioned), CONVOP_OK);
    assert_int_equal(versioned->flags, 0);
    assert_memory_equal(old->dl_tensor.strides, ((int64_t[]){77, 1}), sizeof(int64_t[2]));
    assert_memory_equal(versioned->dl_tensor.strides, ((int64_t[]){77, 1}), sizeof(int64_t[2]));
    /* A consumer that scribbles into its struct changes nobody else's. */
    old->dl_tensor.strides[0] = old->dl_tensor.shape[0] = -1;
    assert_int_equal(versioned->dl_tensor.strides[0], 77);
    assert_int_equal(convop_array_view(array)->shape[0], 1);
    old->deleter(old);
    versioned->deleter(versioned);
    convop_array_release(&array);
    assert_int_equal(atomic_load(&log.deleted), 1);
}

static void export_outlives_its_source(void **state)
{
    (void)state;
    convop_array *array;
    DLTensor *t;
    struct DLManagedTensorVersioned *out;
    uint64_t live = cvp_alloc_live();
    const DLDataType f32 = {kDLFloat, 32, 1};
    assert_int_equal(convop_array_create(NULL, f32, 1, (int64_t[]){1000}, &array), CONVOP_OK);
    assert_int_equal(convop_array_writable(array, &t), CONVOP_OK);
    for (int i = 0; i < 1000; i++) ((float *)t->data)[i] = (float)i;
    assert_int_equal(convop_to_dlpack_versioned(array, &out), CONVOP_OK);
    convop_array_release(&array);
    /* 10 MB of other arrays, dirtied, come and go. */
    for (int i = 0; i < 2500; i++) {
        convop_array *other;
        assert_int_equal(convop_array_create(NULL, f32, 1, (int64_t[]){1000}, &other), CONVOP_OK);
        memset(convop_array_view(other)->data, 0xff, 4000);
        convop_array_release(&other);
    }
    for (int i = 0; i < 1000; i++) assert_true(((float *)out->dl_tensor.data)[i] == (float)i);
    out->deleter(out);
    assert_int_equal(cvp_alloc_live(), live);
}

/* The producer's deleter runs once, when array and exports are all gone, in any order. */
static void deleter_runs_once_at_the_end(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    for (int order = 0; order < 2; order++) {
        struct producer_log log = {0};
        convop_array *array, *second;
        DLManagedTensor *out;
        assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
        second = convop_array_retain(array);
        assert_int_equal(convop_to_dlpack(array, &out), CONVOP_OK);
        convop_array_release(&array);
        if (order == 0) out->deleter(out);
        assert_int_equal(atomic_load(&log.deleted), 0);
        assert_true(producer_at(second, 1, 1, 0) == 4.0f);
        convop_array_release(&second);
        if (order == 1) {
            assert_int_equal(atomic_load(&log.deleted), 0);
            out->deleter(out);
        }
        assert_int_equal(atomic_load(&log.deleted), 1);
    }
}

static void null_deleter(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLManagedTensor *old = producer_make(&t, &log);
    old->deleter = NULL;
    assert_int_equal(convop_from_dlpack(old, &array), CONVOP_OK);
    convop_array_release(&array);
    struct DLManagedTensorVersioned *versioned = producer_make_versioned(&t, &log, 1, 0, 0);
    versioned->deleter = NULL;
    assert_int_equal(convop_from_dlpack_versioned(versioned, &array), CONVOP_OK);
    convop_array_release(&array);
    producer_delete(old);
    producer_delete_versioned(versioned);
}

/* A deleter may call convop: here it makes, exports and drops an array. */
static void calling_deleter(DLManagedTensor *self)
{
    convop_array *array;
    DLManagedTensor *out;
    const DLDataType f32 = {kDLFloat, 32, 1};
    if (convop_array_create(NULL, f32, 1, (int64_t[]){3}, &array) == CONVOP_OK) {
        if (convop_to_dlpack(array, &out) == CONVOP_OK) out->deleter(out);
        convop_array_release(&array);
    }
    producer_delete(self);
}

static void deleter_may_call(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLManagedTensor *managed = producer_make(&t, &log);
    managed->deleter = calling_deleter;
    assert_int_equal(convop_from_dlpack(managed, &array), CONVOP_OK);
    convop_array_release(&array);
    assert_int_equal(atomic_load(&log.deleted), 1);
}

/* What is the producer's, beyond data, is not looked at again after the import. */
static void shape_is_copied(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLManagedTensor *managed = producer_make(&t, &log);
    assert_int_equal(convop_from_dlpack(managed, &array), CONVOP_OK);
    managed->dl_tensor.shape[0] = managed->dl_tensor.strides[0] = -5;
    managed->dl_tensor.data = NULL;
    assert_true(producer_at(array, 1, 2, 0) == 5.0f);
    assert_memory_equal(convop_array_view(array)->shape, producer_shape, sizeof(int64_t[2]));
    convop_array_release(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exported_strides_are_canonical),
        cmocka_unit_test(export_outlives_its_source),
        cmocka_unit_test(deleter_runs_once_at_the_end),
        cmocka_unit_test(null_deleter),
        cmocka_unit_test(deleter_may_call),
        cmocka_unit_test(shape_is_copied),
    };
    return cmocka_run_group_tests(tests, fill_samples, NULL);
}
