/* The allocator of the exchange API: it fits the table, what it makes, and how it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "convop/array.h"
#include "src/common/alloc.h"
#include "src/common/dlpack_abi.h"

/* The one entry that C can fill; the others are about Python objects. */
static const struct cvp_dlpack_exchange_api table = {
    .header = {.version = {CVP_DLPACK_MAJOR, CVP_DLPACK_MINOR}},
    .allocate = convop_dlpack_allocate,
};

struct heard {
    int calls;
    char kind[32], message[256];
};

static void hear(void *context, const char *kind, const char *message)
{
    struct heard *heard = context;
    heard->calls++;
    strncpy(heard->kind, kind, sizeof(heard->kind) - 1);
    strncpy(heard->message, message, sizeof(heard->message) - 1);
}

static DLTensor prototype(int ndim, int64_t *shape)
{
    /* Strides, data and byte_offset do not count. */
    static int64_t nonsense[] = {-5, 0, 3, 7};
    return (DLTensor){.data = (void *)(uintptr_t)3,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape,
                      .strides = nonsense,
                      .byte_offset = 1};
}

/* Its elements lie with it, or apart from it. */
static void compact_aligned_writable(void **state)
{
    (void)state;
    for (int64_t rows = 3; rows < 4000; rows *= 10) {
        int64_t shape[] = {2, 1, rows, 5};
        DLTensor like = prototype(4, shape);
        struct DLManagedTensorVersioned *made = NULL;
        struct heard heard = {0};
        uint64_t live = cvp_alloc_live();
        assert_int_equal(table.allocate(&like, &made, &heard, hear), 0);
        assert_int_equal(heard.calls, 0);
        assert_int_equal(made->version.major, 1);
        assert_int_equal(made->version.minor, 3);
        assert_true(made->flags == 0);
        const DLTensor *t = &made->dl_tensor;
        assert_int_equal((uintptr_t)t->data % 64, 0);
        assert_true(t->byte_offset == 0);
        assert_ptr_not_equal(t->shape, shape);
        assert_memory_equal(t->shape, shape, sizeof(shape));
        assert_memory_equal(t->strides, ((int64_t[]){5 * rows, 5 * rows, 5, 1}), sizeof(shape));
        memset(t->data, 0x77, (size_t)(10 * rows) * sizeof(float));
        made->deleter(made);
        assert_int_equal(cvp_alloc_live(), live);
    }
}

static void scalar_and_empty(void **state)
{
    (void)state;
    int64_t none[] = {4, 0};
    DLTensor scalar = prototype(0, NULL), empty = prototype(2, none);
    struct DLManagedTensorVersioned *made = NULL;
    assert_int_equal(table.allocate(&scalar, &made, NULL, NULL), 0);
    assert_null(made->dl_tensor.shape);
    *(float *)made->dl_tensor.data = 1;
    made->deleter(made);
    assert_int_equal(table.allocate(&empty, &made, NULL, NULL), 0);
    assert_null(made->dl_tensor.data);
    made->deleter(made);
}

static void refused(DLTensor *like, const char *kind, const char *mention)
{
    struct DLManagedTensorVersioned *const untouched = (void *)like, *made = untouched;
    struct heard heard = {0};
    uint64_t live = cvp_alloc_live();
    assert_int_equal(table.allocate(like, &made, &heard, hear), -1);
    assert_ptr_equal(made, untouched);
    assert_int_equal(heard.calls, 1);
    assert_string_equal(heard.kind, kind);
    assert_string_equal(heard.message, convop_last_error());
    if (strstr(heard.message, mention) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", heard.message, mention);
    assert_int_equal(table.allocate(like, &made, NULL, NULL), -1);
    assert_int_equal(cvp_alloc_live(), live);
}

static void names_what_is_wrong(void **state)
{
    (void)state;
    int64_t shape[] = {2, 3}, huge[] = {(int64_t)1 << 40, (int64_t)1 << 40}, negative[] = {2, -1};
    int64_t beyond_memory[] = {(int64_t)1 << 58, 1};
    DLTensor like = prototype(2, shape);
    refused(NULL, "ValueError", "prototype is NULL");
    like.ndim = 9;
    refused(&like, "ValueError", "ndim 9");
    like = prototype(2, huge);
    refused(&like, "ValueError", "overflows");
    like = prototype(2, negative);
    refused(&like, "ValueError", "negative");
    like = prototype(2, beyond_memory);
    refused(&like, "MemoryError", "no memory");
    like = prototype(2, shape), like.dtype.bits = 24;
    refused(&like, "ValueError", "24 bits");
    like = prototype(2, shape), like.dtype = (DLDataType){10, 8, 1};
    refused(&like, "BufferError", "float8_e4m3fn");
    like = prototype(2, shape), like.device.device_type = kDLMetal;
    refused(&like, "BufferError", "metal");
    like = prototype(2, shape), like.device.device_type = (DLDeviceType)3;
    refused(&like, "BufferError", "pinned");

    struct heard heard = {0};
    like = prototype(2, shape);
    assert_int_equal(table.allocate(&like, NULL, &heard, hear), -1);
    assert_string_equal(heard.kind, "ValueError");
    assert_non_null(strstr(heard.message, "out is NULL"));
}

/* Of the first allocations each fails in turn; the next is not needed. */
static void no_memory_of(int64_t rows, uint64_t allocations)
{
    int64_t shape[] = {rows, 3};
    DLTensor like = prototype(2, shape);
    struct DLManagedTensorVersioned *made = NULL;
    for (uint64_t n = 1; n <= allocations; n++) {
        struct heard heard = {0};
        uint64_t live = cvp_alloc_live();
        cvp_alloc_fail_at(n);
        assert_int_equal(table.allocate(&like, &made, &heard, hear), -1);
        cvp_alloc_fail_at(0);
        assert_null(made);
        assert_string_equal(heard.kind, "MemoryError");
        assert_int_equal(cvp_alloc_live(), live);
    }
    cvp_alloc_fail_at(allocations + 1);
    assert_int_equal(table.allocate(&like, &made, NULL, NULL), 0);
    cvp_alloc_fail_at(0);
    made->deleter(made);
}

static void no_memory(void **state)
{
    (void)state;
    no_memory_of(2, 1);
    no_memory_of(1000, 2); /* elements apart */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_aligned_writable),
        cmocka_unit_test(scalar_and_empty),
        cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
