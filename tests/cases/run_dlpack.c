/* DLPack: what a producer's struct may say, and what an export says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/cases/compare.h"
#include "tests/cases/dlpack.h"
#include "tests/support/expect.h"
#include "tests/support/guard.h"

static void refused(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array;
    uint64_t live = cvp_alloc_live();
    if (dlpack_import(c, &log, &array) == CONVOP_OK) fail_msg("accepted");
    assert_null(array);
    compare_mention(c, convop_last_error());
    assert_int_equal(cvp_alloc_live(), live);
    assert_true(library_is_usable());
}

/* Accepted, and its elements are found by strides as the producer meant them. */
static void read_right(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    const DLTensor *t = convop_array_view(array);
    const float *memory = dlpack_samples;
    for (int64_t i = 0; i < (t->ndim > 0 ? t->shape[0] : 1); i++)
        for (int64_t j = 0; j < (t->ndim > 1 ? t->shape[1] : 1); j++) {
            int64_t at = t->ndim == 0            ? 0
                         : dlpack_strides[0] > 0 ? i * dlpack_strides[0] + j * dlpack_strides[1]
                                                 : i * t->shape[1] + j;
            if (t->dtype.bits == 32) assert_true(producer_at(array, i, j, 0) == memory[at]);
        }
    dlpack_released(array, &log);
}

static void null_strides(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    const DLTensor *t = convop_array_view(array);
    assert_int_equal(t->strides[0], 3);
    assert_int_equal(t->strides[1], 1);
    dlpack_released(array, &log);
    dlpack_strides[0] = 3, dlpack_strides[1] = 1;
    read_right(c);
}

/* Nothing is read behind the last element: there lies a forbidden page. */
static void strides_count_elements(const struct test_case *c)
{
    (void)c;
    struct guard memory = guard_create(6 * sizeof(double), 1);
    for (int i = 0; i < 6; i++) ((double *)memory.data)[i] = i;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    t.dtype.bits = 64;
    t.data = memory.data;
    DLManagedTensor *m = producer_make(&t, &log);
    convop_array *array = NULL;
    expect_ok(convop_from_dlpack(m, &array));
    const DLTensor *view = convop_array_view(array);
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            sum += ((const double *)view->data)[i * view->strides[0] + j * view->strides[1]];
    assert_true(sum == 15);
    dlpack_released(array, &log);
    guard_destroy(&memory);
}

/* Accepted, or refused by the name of what is not here. */
static void accepted_or_named(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array;
    if (dlpack_import(c, &log, &array) == CONVOP_OK)
        dlpack_released(array, &log);
    else
        assert_non_null(strstr(convop_last_error(), "device"));
}

static void type_is_kept(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    assert_int_equal(convop_array_view(array)->dtype.code, kDLBfloat);
    dlpack_released(array, &log);
}

static void written_through(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(array, &t));
    ((float *)t->data)[t->strides[0] + 2 * t->strides[1]] = 99;
    assert_true(dlpack_samples[5] == 99);
    dlpack_released(array, &log);
}

/* Not as an output, and not as a gradient: the one way to a writable view refuses it. */
static void no_output(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    DLTensor *t = NULL;
    assert_int_equal(convop_array_writable(array, &t), CONVOP_E_INVALID);
    assert_null(t);
    compare_mention(c, convop_last_error());
    dlpack_released(array, &log);
}

static void keeps_read_only(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    struct DLManagedTensorVersioned *out = NULL;
    DLManagedTensor *old = NULL;
    expect_ok(convop_to_dlpack_versioned(array, &out));
    assert_true(out->flags & 1);
    assert_int_equal(convop_to_dlpack(array, &old), CONVOP_E_INVALID);
    assert_null(old);
    out->deleter(out);
    dlpack_released(array, &log);
}

static void exported(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    DLManagedTensor *out = NULL;
    expect_ok(convop_to_dlpack(array, &out));
    const DLTensor *t = &out->dl_tensor;
    if (t->ndim == 0) {
        assert_null(t->shape);
        assert_null(t->strides);
    } else {
        assert_int_equal(t->strides[0], 77);
        assert_int_equal(t->strides[1], 1);
    }
    convop_array_release(&array);
    assert_int_equal(log.deleted, 0);
    out->deleter(out);
    assert_int_equal(log.deleted, 1);
}

static void export_outlives_source(const struct test_case *c)
{
    (void)c;
    int64_t shape[] = {2, 3};
    convop_array *array = NULL;
    DLManagedTensor *out = NULL;
    uint64_t live = cvp_alloc_live();
    expect_ok(convop_array_create(NULL, (DLDataType){kDLFloat, 32, 1}, 2, shape, &array));
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(array, &t));
    for (int i = 0; i < 6; i++) ((float *)t->data)[i] = (float)i;
    expect_ok(convop_to_dlpack(array, &out));
    convop_array_release(&array);
    for (int i = 0; i < 10; i++) {
        void *churn = malloc(1 << 20);
        memset(churn, 0xee, 1 << 20);
        free(churn);
        convop_array *other = NULL;
        expect_ok(convop_array_create(NULL, (DLDataType){kDLFloat, 32, 1}, 2, shape, &other));
        convop_array_release(&other);
    }
    for (int i = 0; i < 6; i++) assert_true(((float *)out->dl_tensor.data)[i] == (float)i);
    out->deleter(out);
    assert_int_equal(cvp_alloc_live(), live);
}

case_run run_dlpack_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"dl.strides_null", null_strides},
        {"dl.zero_dim", read_right},
        {"dl.export_strides_nonnull", exported},
        {"dl.export_zero_dim", exported},
        {"dl.size1_strides", read_right},
        {"dl.strides_are_elements", strides_count_elements},
        {"dl.device_managed", accepted_or_named},
        {"dl.bf16", type_is_kept},
        {"dl.readonly_as_output", no_output},
        {"dl.writable_versioned", written_through},
        {"dl.unversioned_policy", written_through},
        {"dl.export_keeps_readonly", keeps_read_only},
        {"dl.deleter_frees_self", read_right},
        {"dl.export_outlives_source", export_outlives_source},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    if (strcmp(c->op, "dlpack_import") == 0 && strcmp(c->expect, "error") == 0) return refused;
    return run_lifetime_for(c);
}
