/* Imports of what a case describes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cases/dlpack.h"

float *const dlpack_samples = producer_samples;
int64_t dlpack_strides[16];
static int64_t shape_of[16];

/* The tensor that a case's "dl" describes. */
static struct producer_tensor described(const json_t *dl)
{
    int64_t device[2], dtype[3];
    struct producer_tensor t = producer_plain();
    producer_fill();
    json_ints(json_object_get(dl, "device"), device, 2);
    json_ints(json_object_get(dl, "dtype"), dtype, 3);
    t.device = (DLDevice){(DLDeviceType)device[0], (int32_t)device[1]};
    t.dtype = (DLDataType){(uint8_t)dtype[0], (uint8_t)dtype[1], (uint16_t)dtype[2]};
    t.ndim = json_ints(json_object_get(dl, "shape"), shape_of, 16);
    t.shape = t.ndim > 0 ? shape_of : NULL;
    t.strides =
        json_ints(json_object_get(dl, "strides"), dlpack_strides, 16) > 0 ? dlpack_strides : NULL;
    const json_t *ndim = json_object_get(dl, "ndim"), *data = json_object_get(dl, "data");
    if (ndim != NULL) t.ndim = (int)json_integer_value(ndim);
    if (strcmp(json_string_value(data), "null") == 0) t.data = NULL;
    t.byte_offset = (uint64_t)json_integer_value(json_object_get(dl, "byte_offset"));
    return t;
}

/* An import of it as the case has it, of the old struct or of the new one; what is not taken over
 * is deleted. */
convop_status dlpack_import(const struct test_case *c, struct producer_log *log,
                            convop_array **array)
{
    const json_t *dl = json_object_get(c->params, "dl");
    struct producer_tensor t = described(dl);
    int64_t version[2];
    atomic_store(&log->deleted, 0);
    *array = NULL;
    if (json_ints(json_object_get(dl, "version"), version, 2) == 2) {
        uint64_t flags = (uint64_t)json_integer_value(json_object_get(dl, "flags"));
        struct DLManagedTensorVersioned *m =
            producer_make_versioned(&t, log, (unsigned)version[0], (unsigned)version[1], flags);
        convop_status status = convop_from_dlpack_versioned(m, array);
        assert_int_equal(log->deleted, 0);
        if (status != CONVOP_OK) m->deleter(m);
        return status;
    }
    DLManagedTensor *m = producer_make(&t, log);
    convop_status status = convop_from_dlpack(m, array);
    assert_int_equal(log->deleted, 0);
    if (status != CONVOP_OK) m->deleter(m);
    return status;
}

convop_array *dlpack_imported(const struct test_case *c, struct producer_log *log)
{
    convop_array *array;
    if (dlpack_import(c, log, &array) != CONVOP_OK) fail_msg("refused: %s", convop_last_error());
    return array;
}

void dlpack_released(convop_array *array, struct producer_log *log)
{
    assert_int_equal(log->deleted, 0);
    convop_array_release(&array);
    assert_int_equal(log->deleted, 1);
}
