/* Arrays over the memory of others: what each field of both managed structs may hold. The cases are
 * what producers of DLPack tensors have been seen to hand out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convop/registry.h"
#include "src/common/alloc.h"
#include "tests/support/producer.h"

enum { READ_ONLY = 1 };

static int fill_samples(void **state)
{
    (void)state;
    producer_fill();
    return 0;
}

/* ---- accepted ------------------------------------------------------------------------------ */

static void empty_with_null_data(void **state)
{
    (void)state;
    const int64_t shape[] = {0, 3, 4, 4}, strides[] = {48, 16, 4, 1};
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLTensor *out;
    t.ndim = 4, t.shape = shape, t.strides = strides, t.data = NULL;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_null(convop_array_view(array)->data);
    assert_int_equal(convop_array_writable(array, &out), CONVOP_OK);
    convop_array_release(&array);
    assert_int_equal(atomic_load(&log.deleted), 1);
}

/* Strides of an empty tensor mean nothing; whoever reads the view gets compact ones. */
static void empty_with_odd_strides(void **state)
{
    (void)state;
    const int64_t shape[] = {3, 0}, strides[] = {-9, 0};
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    t.shape = shape, t.strides = strides;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_memory_equal(convop_array_view(array)->strides, ((int64_t[]){1, 1}), sizeof(int64_t[2]));
    convop_array_release(&array);
}

static void null_strides_are_compact(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    t.strides = NULL;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_memory_equal(convop_array_view(array)->strides, producer_strides, sizeof(int64_t[2]));
    assert_true(producer_at(array, 1, 2, 0) == 5.0f);
    convop_array_release(&array);
}

static void scalar_without_shape(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    t.ndim = 0, t.shape = NULL, t.strides = NULL, t.byte_offset = 12;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_true(producer_at(array, 0, 0, 0) == 3.0f);
    struct DLManagedTensorVersioned *out;
    assert_int_equal(convop_to_dlpack_versioned(array, &out), CONVOP_OK);
    assert_int_equal(out->dl_tensor.ndim, 0);
    assert_null(out->dl_tensor.shape);
    assert_null(out->dl_tensor.strides);
    out->deleter(out);
    convop_array_release(&array);
}

static void strides_of_size_one_mean_nothing(void **state)
{
    (void)state;
    const int64_t shape[] = {10, 5, 1}, strides[] = {1, 10, 3};
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLTensor *out;
    t.ndim = 3, t.shape = shape, t.strides = strides;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    for (int64_t i = 0; i < 10; i++)
        for (int64_t j = 0; j < 5; j++)
            assert_true(producer_at(array, i, j, 0) == (float)(i + 10 * j));
    assert_int_equal(convop_array_writable(array, &out), CONVOP_OK);
    convop_array_release(&array);
}

/* 48 bytes up to the end of a page that nothing follows: strides count elements, not bytes. */
static void nothing_behind_the_last_element(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *two =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(two, MAP_FAILED);
    assert_int_equal(mprotect(two + page, page, PROT_NONE), 0);
    double *data = (double *)(void *)(two + page - 48);
    for (int i = 0; i < 6; i++) data[i] = i;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    t.dtype.bits = 64, t.data = data;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    const DLTensor *view = convop_array_view(array);
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 3; j++)
            assert_true(((double *)view->data)[i * view->strides[0] + j * view->strides[1]] ==
                        (double)(3 * i + j));
    convop_array_release(&array);
    munmap(two, 2 * page);
}

static void byte_offset_counts_bytes(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLManagedTensor *out;
    t.byte_offset = 16;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_true(producer_at(array, 0, 0, 0) == 4.0f);
    /* Old consumers ignore the offset, so it goes into the pointer. */
    assert_int_equal(convop_to_dlpack(array, &out), CONVOP_OK);
    assert_int_equal(out->dl_tensor.byte_offset, 0);
    assert_ptr_equal(out->dl_tensor.data, producer_samples + 4);
    out->deleter(out);
    convop_array_release(&array);
}

static void bfloat16_is_a_type(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    t.dtype = (DLDataType){kDLBfloat, 16, 1};
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_int_equal(convop_array_view(array)->dtype.code, kDLBfloat);
    convop_array_release(&array);
}

static void broadcast_is_read_not_written(void **state)
{
    (void)state;
    const int64_t strides[] = {0, 1};
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLTensor *out = (DLTensor *)&log;
    t.strides = strides;
    assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
    assert_true(producer_at(array, 1, 2, 0) == 2.0f);
    assert_int_equal(convop_array_writable(array, &out), CONVOP_E_INVALID);
    assert_null(out);
    assert_non_null(strstr(convop_last_error(), "overlap"));
    convop_array_release(&array);
}

static void writable_unless_it_says_otherwise(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    for (int versioned = 0; versioned < 2; versioned++) {
        convop_array *array;
        DLTensor *out;
        producer_fill();
        if (versioned)
            assert_int_equal(
                convop_from_dlpack_versioned(producer_make_versioned(&t, &log, 1, 0, 0), &array),
                CONVOP_OK);
        else
            assert_int_equal(convop_from_dlpack(producer_make(&t, &log), &array), CONVOP_OK);
        assert_int_equal(convop_array_writable(array, &out), CONVOP_OK);
        ((float *)out->data)[4] = 77.0f;
        convop_array_release(&array);
        assert_true(producer_samples[4] == 77.0f);
        producer_fill();
    }
    assert_int_equal(atomic_load(&log.deleted), 2);
}

static void read_only_stays_read_only(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLTensor *out = (DLTensor *)&log;
    DLManagedTensor *old = (DLManagedTensor *)&log;
    struct DLManagedTensorVersioned *managed = producer_make_versioned(&t, &log, 1, 0, READ_ONLY);
    assert_int_equal(convop_from_dlpack_versioned(managed, &array), CONVOP_OK);
    assert_true(producer_at(array, 0, 1, 0) == 1.0f);
    assert_int_equal(convop_array_writable(array, &out), CONVOP_E_INVALID);
    assert_null(out);
    assert_non_null(strstr(convop_last_error(), "read-only"));
    assert_int_equal(convop_to_dlpack(array, &old), CONVOP_E_INVALID);
    assert_null(old);
    assert_non_null(strstr(convop_last_error(), "read-only"));
    assert_int_equal(convop_to_dlpack_versioned(array, &managed), CONVOP_OK);
    assert_int_equal(managed->flags, READ_ONLY);
    assert_int_equal(managed->version.major, 1);
    assert_int_equal(managed->version.minor, 3);
    managed->deleter(managed);
    convop_array_release(&array);
    assert_int_equal(atomic_load(&log.deleted), 1);
}

/* A later minor version and flags that nobody knows yet change nothing. */
static void later_minor_versions(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array;
    DLTensor *out;
    struct DLManagedTensorVersioned *managed =
        producer_make_versioned(&t, &log, 1, 99, (uint64_t)1 << 40 | 2);
    assert_int_equal(convop_from_dlpack_versioned(managed, &array), CONVOP_OK);
    assert_int_equal(convop_array_writable(array, &out), CONVOP_OK);
    convop_array_release(&array);
}

/* ---- refused: the caller keeps the tensor -------------------------------------------------- */

static void refused(const struct producer_tensor *t, convop_status status, const char *mention)
{
    struct producer_log log = {0};
    DLManagedTensor *old = producer_make(t, &log);
    struct DLManagedTensorVersioned *versioned = producer_make_versioned(t, &log, 1, 0, 0);
    DLManagedTensor old_was = *old;
    struct DLManagedTensorVersioned versioned_was = *versioned;
    convop_array *array = (convop_array *)&log;
    uint64_t live = cvp_alloc_live();
    assert_int_equal(convop_from_dlpack(old, &array), status);
    assert_null(array);
    assert_non_null(strstr(convop_last_error(), mention));
    array = (convop_array *)&log;
    assert_int_equal(convop_from_dlpack_versioned(versioned, &array), status);
    assert_null(array);
    assert_non_null(strstr(convop_last_error(), mention));
    assert_int_equal(cvp_alloc_live(), live);
    assert_int_equal(atomic_load(&log.deleted), 0);
    assert_memory_equal(old, &old_was, sizeof(old_was));
    assert_memory_equal(versioned, &versioned_was, sizeof(versioned_was));
    old->deleter(old);
    versioned->deleter(versioned);
}

static void bad_shapes(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    t.ndim = -1;
    refused(&t, CONVOP_E_INVALID, "ndim");
    t.ndim = 9;
    refused(&t, CONVOP_E_INVALID, "ndim");
    t = producer_plain(), t.shape = NULL;
    refused(&t, CONVOP_E_INVALID, "shape");
    const int64_t negative[] = {2, -3}, huge[] = {INT64_MAX / 4, 2};
    t = producer_plain(), t.shape = negative;
    refused(&t, CONVOP_E_INVALID, "-3");
    t = producer_plain(), t.shape = huge, t.strides = NULL;
    refused(&t, CONVOP_E_INVALID, "overflow");
    const int64_t backward[] = {-3, 1};
    t = producer_plain(), t.strides = backward, t.byte_offset = 12;
    refused(&t, CONVOP_E_INVALID, "stride");
}

static void bad_types(void **state)
{
    (void)state;
    static const struct {
        DLDataType dtype;
        const char *mention;
    } cases[] = {
        {{kDLBfloat, 32, 1}, "bits"}, {{kDLFloat, 32, 0}, "lanes"}, {{kDLFloat, 32, 4}, "lanes"},
        {{kDLFloat, 12, 1}, "bits"},  {{kDLInt, 24, 1}, "bits"},    {{200, 32, 1}, "type"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct producer_tensor t = producer_plain();
        t.dtype = cases[i].dtype;
        refused(&t, CONVOP_E_INVALID, cases[i].mention);
    }
}

static void bad_devices(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    t.device.device_type = (DLDeviceType)99;
    refused(&t, CONVOP_E_INVALID, "device");
    t.device.device_type = kDLMetal;
    refused(&t, CONVOP_E_DEVICE, "device");
    t.device = (DLDevice){kDLCUDA, 7};
    refused(&t, CONVOP_E_DEVICE, "device");
    t.device = (DLDevice){kDLCUDA, -1};
    refused(&t, CONVOP_E_INVALID, "device");
    t.device = (DLDevice){kDLCUDAManaged, 0};
    refused(&t, CONVOP_E_DEVICE, "cuda_managed");
}

static void bad_pointers(void **state)
{
    (void)state;
    struct producer_tensor t = producer_plain();
    t.data = NULL;
    refused(&t, CONVOP_E_INVALID, "NULL");
    t = producer_plain(), t.byte_offset = 2;
    refused(&t, CONVOP_E_INVALID, "align");
    t = producer_plain(), t.data = (char *)producer_samples + 1;
    refused(&t, CONVOP_E_INVALID, "align");
}

static void other_major_versions(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    for (unsigned major = 0; major < 4; major += 2) {
        struct producer_log log = {0};
        struct DLManagedTensorVersioned *managed = producer_make_versioned(&t, &log, major, 0, 0);
        convop_array *array = (convop_array *)&log;
        assert_int_equal(convop_from_dlpack_versioned(managed, &array), CONVOP_E_UNSUPPORTED);
        assert_null(array);
        assert_non_null(strstr(convop_last_error(), "version"));
        assert_int_equal(atomic_load(&log.deleted), 0);
        managed->deleter(managed);
    }
}

static void nothing_to_import(void **state)
{
    (void)state;
    const struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    convop_array *array = (convop_array *)&log;
    assert_int_equal(convop_from_dlpack(NULL, &array), CONVOP_E_INVALID);
    assert_null(array);
    assert_int_equal(convop_from_dlpack_versioned(NULL, &array), CONVOP_E_INVALID);
    DLManagedTensor *old = producer_make(&t, &log);
    struct DLManagedTensorVersioned *versioned = producer_make_versioned(&t, &log, 1, 0, 0);
    assert_int_equal(convop_from_dlpack(old, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_from_dlpack_versioned(versioned, NULL), CONVOP_E_INVALID);
    old->deleter(old);
    versioned->deleter(versioned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_with_null_data),
        cmocka_unit_test(empty_with_odd_strides),
        cmocka_unit_test(null_strides_are_compact),
        cmocka_unit_test(scalar_without_shape),
        cmocka_unit_test(strides_of_size_one_mean_nothing),
        cmocka_unit_test(nothing_behind_the_last_element),
        cmocka_unit_test(byte_offset_counts_bytes),
        cmocka_unit_test(bfloat16_is_a_type),
        cmocka_unit_test(broadcast_is_read_not_written),
        cmocka_unit_test(writable_unless_it_says_otherwise),
        cmocka_unit_test(read_only_stays_read_only),
        cmocka_unit_test(later_minor_versions),
        cmocka_unit_test(bad_shapes),
        cmocka_unit_test(bad_types),
        cmocka_unit_test(bad_devices),
        cmocka_unit_test(bad_pointers),
        cmocka_unit_test(other_major_versions),
        cmocka_unit_test(nothing_to_import),
    };
    return cmocka_run_group_tests(tests, fill_samples, NULL);
}
