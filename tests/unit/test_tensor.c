/* The check of tensors at the border: what it lets through, and the word that each refusal holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/tensor.h"

#define F32 ((DLDataType){2, 32, 1})
#define CPU ((DLDevice){kDLCPU, 0})

static _Alignas(64) float memory[4096];

/* A float32 tensor in `memory`; shape and strides are borrowed. */
static DLTensor tensor(int ndim, int64_t *shape, int64_t *strides)
{
    DLTensor t = {memory, CPU, ndim, F32, shape, strides, 0};
    return t;
}

static void accepts(const DLTensor *t, enum cvp_role role)
{
    convop_status status = cvp_tensor_check("Op", "src", t, role);
    if (status != CONVOP_OK) print_error("%s\n", convop_last_error());
    assert_int_equal(status, CONVOP_OK);
}

static void refuses(const DLTensor *t, enum cvp_role role, convop_status want, const char *word)
{
    assert_int_equal(cvp_tensor_check("Op", "src", t, role), want);
    if (strstr(convop_last_error(), word) == NULL)
        fail_msg("'%s' lacks '%s'", convop_last_error(), word);
    assert_int_equal(strncmp(convop_last_error(), "Op: src ", 8), 0);
}

static void rank(void **state)
{
    (void)state;
    int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    DLTensor t = tensor(0, NULL, NULL);
    accepts(&t, CVP_OUTPUT);
    t = tensor(8, shape, NULL);
    accepts(&t, CVP_OUTPUT);
    t.ndim = 9;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "ndim");
    t.ndim = -1;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "ndim");
    t = tensor(2, NULL, NULL);
    refuses(&t, CVP_QUERY, CONVOP_E_INVALID, "ndim");
    refuses(NULL, CVP_INPUT, CONVOP_E_INVALID, "NULL");
}

static void sizes(void **state)
{
    (void)state;
    int64_t shape[3] = {2, -3, 4};
    DLTensor t = tensor(3, shape, NULL);
    refuses(&t, CVP_QUERY, CONVOP_E_INVALID, "shape");
    shape[1] = 0;
    t.data = NULL;
    accepts(&t, CVP_OUTPUT);
    /* Elements fit into 64 bits, bytes do not. */
    int64_t large[2] = {INT64_C(1) << 30, INT64_C(1) << 31};
    t = tensor(2, large, NULL);
    refuses(&t, CVP_QUERY, CONVOP_E_INVALID, "overflow");
    large[1] = INT64_C(1) << 40;
    refuses(&t, CVP_QUERY, CONVOP_E_INVALID, "overflow");
    t.data = NULL;
    large[1] = INT64_C(1) << 30;
    accepts(&t, CVP_QUERY);
    /* Empty, but its compact strides would not fit. */
    int64_t empty[3] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
    t = tensor(3, empty, NULL);
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "overflow");
}

static void dtypes(void **state)
{
    (void)state;
    const struct {
        DLDataType dtype;
        const char *name;
    } good[] = {
        {{0, 8, 1}, "int8"},      {{0, 64, 1}, "int64"},     {{1, 16, 1}, "uint16"},
        {{2, 16, 1}, "float16"},  {{2, 32, 1}, "float32"},   {{2, 64, 1}, "float64"},
        {{4, 16, 1}, "bfloat16"}, {{5, 64, 1}, "complex64"}, {{5, 128, 1}, "complex128"},
        {{6, 8, 1}, "bool"},
    };
    char text[16];
    DLTensor t = tensor(0, NULL, NULL);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        t.dtype = good[i].dtype;
        accepts(&t, CVP_OUTPUT);
        assert_string_equal(cvp_dtype_name(t.dtype, text), good[i].name);
        assert_int_equal(cvp_dtype_size(t.dtype), t.dtype.bits / 8);
    }
    const struct {
        DLDataType dtype;
        const char *word;
    } bad[] = {
        {{2, 32, 0}, "lanes"}, {{2, 32, 4}, "lanes"}, {{2, 32, 65535}, "lanes"},
        {{3, 64, 1}, "type"},  {{18, 8, 1}, "type"},  {{255, 8, 1}, "type"},
        {{2, 0, 1}, "bits"},   {{2, 8, 1}, "bits"},   {{2, 24, 1}, "bits"},
        {{2, 48, 1}, "bits"},  {{2, 128, 1}, "bits"}, {{4, 32, 1}, "bits"},
        {{0, 4, 1}, "bits"},   {{0, 24, 1}, "bits"},  {{5, 32, 1}, "bits"},
        {{6, 1, 1}, "bits"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        t.dtype = bad[i].dtype;
        refuses(&t, CVP_QUERY, CONVOP_E_INVALID, bad[i].word);
    }
    const struct {
        DLDataType dtype;
        const char *word;
    } small[] = {
        {{7, 8, 1}, "float8_e3m4"}, {{10, 8, 1}, "float8_e4m3fn"}, {{17, 4, 2}, "float4_e2m1fn"}};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        t.dtype = small[i].dtype;
        refuses(&t, CVP_QUERY, CONVOP_E_UNSUPPORTED, small[i].word);
    }
    assert_string_equal(cvp_dtype_name((DLDataType){2, 32, 4}, text), "float32x4");
    assert_string_equal(cvp_dtype_name((DLDataType){255, 255, 65535}, text), "255:255x65535");
    assert_int_equal(cvp_dtype_size((DLDataType){0, 4, 1}), 0);
    assert_int_equal(cvp_dtype_size((DLDataType){0, 4, 2}), 1);
    assert_true(cvp_dtype_equal(F32, F32));
    assert_false(cvp_dtype_equal(F32, (DLDataType){2, 32, 2}));
    assert_false(cvp_dtype_equal(F32, (DLDataType){2, 64, 1}));
    assert_false(cvp_dtype_equal(F32, (DLDataType){0, 32, 1}));
}

static void devices(void **state)
{
    (void)state;
    const struct {
        int type, id;
        convop_status status;
        const char *word;
    } cases[] = {
        {1, 0, CONVOP_OK, ""},
        {1, 3, CONVOP_OK, ""},
        {3, 0, CONVOP_OK, ""},
        {2, 0, CONVOP_E_DEVICE, "cuda:0"},
        {2, 7, CONVOP_E_DEVICE, "cuda:7"},
        {13, 0, CONVOP_E_DEVICE, "cuda_managed:0"},
        {10, 1, CONVOP_E_DEVICE, "rocm:1"},
        {1, -1, CONVOP_E_INVALID, "cpu:-1"},
        {2, -1, CONVOP_E_INVALID, "cuda:-1"},
        {2, 1 << 20, CONVOP_E_INVALID, "cuda:1048576"},
        {0, 0, CONVOP_E_INVALID, "device"},
        {5, 0, CONVOP_E_INVALID, "device"},
        {99, 0, CONVOP_E_INVALID, "device"},
        {-2, 0, CONVOP_E_INVALID, "device"},
    };
    DLTensor t = tensor(0, NULL, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        t.device.device_type = (DLDeviceType)cases[i].type;
        t.device.device_id = cases[i].id;
        if (cases[i].status == CONVOP_OK) {
            accepts(&t, CVP_OUTPUT);
        } else {
            refuses(&t, CVP_INPUT, cases[i].status, cases[i].word);
        }
    }
}

static void strides_of_inputs(void **state)
{
    (void)state;
    int64_t shape[2] = {3, 4}, strides[2] = {0, 1};
    DLTensor t = tensor(2, shape, strides);
    accepts(&t, CVP_INPUT); /* broadcast */
    accepts(&t, CVP_QUERY);
    strides[0] = -4;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "stride");
    shape[0] = 1; /* not used for anything */
    accepts(&t, CVP_INPUT);
    shape[0] = 3;
    strides[0] = INT64_MAX / 2;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "overflow");
    strides[0] = INT64_MAX / 8; /* elements fit, bytes do not */
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "overflow");
    shape[1] = 0; /* empty: strides reach nothing */
    accepts(&t, CVP_INPUT);
}

static void strides_of_outputs(void **state)
{
    (void)state;
    const struct {
        int64_t shape[3], strides[3];
        int good;
    } cases[] = {
        {{2, 3, 4}, {12, 4, 1}, 1},   {{2, 3, 4}, {1, 2, 6}, 1}, /* column-major */
        {{2, 3, 4}, {100, 10, 2}, 1},                            /* gaps */
        {{2, 1, 4}, {4, 0, 1}, 1},                               /* a size of 1 has no stride */
        {{2, 3, 4}, {0, 4, 1}, 0},    {{2, 3, 4}, {12, 4, 0}, 0}, {{2, 3, 4}, {11, 4, 1}, 0},
        {{2, 3, 4}, {12, 3, 1}, 0},   {{3, 2, 2}, {1, 3, 4}, 0}, /* each steps over its neighbour,
                                                                    but not over both */
        {{2, 2, 2}, {1, 1, 8}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t shape[3], strides[3];
        memcpy(shape, cases[i].shape, sizeof(shape));
        memcpy(strides, cases[i].strides, sizeof(strides));
        DLTensor t = tensor(3, shape, strides);
        accepts(&t, CVP_INPUT);
        if (cases[i].good) {
            accepts(&t, CVP_OUTPUT);
        } else {
            refuses(&t, CVP_OUTPUT, CONVOP_E_INVALID, "overlap");
            refuses(&t, CVP_OUTPUT, CONVOP_E_INVALID, "stride");
        }
    }
}

static void data(void **state)
{
    (void)state;
    int64_t shape[1] = {4};
    DLTensor t = tensor(1, shape, NULL);
    t.byte_offset = 8;
    accepts(&t, CVP_OUTPUT);
    assert_ptr_equal(cvp_tensor_data(&t), memory + 2);
    t.byte_offset = 2;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "align");
    t.data = (char *)memory + 2; /* the sum is aligned */
    accepts(&t, CVP_INPUT);
    t.byte_offset = UINT64_MAX - 7;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "overflow");
    t = tensor(1, shape, NULL);
    shape[0] = INT64_MAX / 4;
    t.data = (void *)(uintptr_t)-64; /* the end wraps around, not the start */
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "overflow");
    shape[0] = 4;
    t.data = NULL;
    refuses(&t, CVP_INPUT, CONVOP_E_INVALID, "NULL");
    t.byte_offset = 64;
    refuses(&t, CVP_OUTPUT, CONVOP_E_INVALID, "NULL");
    accepts(&t, CVP_QUERY);
    shape[0] = 0;
    accepts(&t, CVP_OUTPUT);
    assert_null(cvp_tensor_data(&t));
}

static void overlap(void **state)
{
    (void)state;
    int64_t shape_a[1] = {16}, shape_b[2] = {2, 2}, strides_b[2] = {8, 1};
    DLTensor a = tensor(1, shape_a, NULL), b = tensor(2, shape_b, strides_b);
    const struct {
        int first; /* of b, whose last element is 9 further */
        convop_status status;
    } cases[] = {{32 - 10, CONVOP_OK}, {32 - 9, CONVOP_E_INVALID}, {32 + 15, CONVOP_E_INVALID},
                 {32 + 16, CONVOP_OK}, {32 + 4, CONVOP_E_INVALID}, {32, CONVOP_E_INVALID}};
    a.data = memory + 32;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        b.data = memory;
        b.byte_offset = sizeof(float) * (uint64_t)cases[i].first;
        assert_int_equal(cvp_tensor_check_overlap("Op", "dst", &a, "src", &b), cases[i].status);
        assert_int_equal(cvp_tensor_check_overlap("Op", "dst", &b, "src", &a), cases[i].status);
    }
    assert_non_null(strstr(convop_last_error(), "overlap"));
    assert_int_equal(cvp_tensor_check_overlap("Op", "dst", &a, "src", NULL), CONVOP_OK);
    assert_int_equal(cvp_tensor_check_overlap("Op", "dst", NULL, "src", &a), CONVOP_OK);
    shape_b[0] = 0;
    assert_int_equal(cvp_tensor_check_overlap("Op", "dst", &a, "src", &b), CONVOP_OK);
}

static void canonical_strides(void **state)
{
    (void)state;
    int64_t shape[4] = {2, 3, 1, 5}, given[4] = {40, 8, 999, 1}, strides[4];
    DLTensor t = tensor(4, shape, NULL);
    cvp_tensor_strides(&t, strides);
    const int64_t compact[4] = {15, 5, 5, 1}, padded[4] = {40, 8, 5, 1};
    assert_memory_equal(strides, compact, sizeof(strides));
    assert_true(cvp_tensor_is_compact(&t));
    assert_int_equal(cvp_tensor_elements(&t), 30);
    assert_int_equal(cvp_tensor_bytes(&t), 120);
    t.strides = given;
    cvp_tensor_strides(&t, strides);
    assert_memory_equal(strides, padded, sizeof(strides));
    assert_false(cvp_tensor_is_compact(&t));
    int64_t same[4] = {15, 5, -7, 1};
    t.strides = same;
    assert_true(cvp_tensor_is_compact(&t));
    shape[1] = 0;
    assert_true(cvp_tensor_is_compact(&t));
    assert_int_equal(cvp_tensor_elements(&t), 0);
    assert_int_equal(cvp_tensor_bytes(&t), 0);
    int64_t one[1] = {1}, zero[1] = {0};
    t = tensor(1, one, zero);
    assert_true(cvp_tensor_is_compact(&t));
    cvp_tensor_strides(&t, strides);
    assert_int_equal(strides[0], 1);
    /* Would not fit: nothing wraps around. */
    int64_t odd[2] = {1, 2}, far[2] = {0, INT64_MAX - 1};
    t = tensor(2, odd, far);
    t.data = NULL;
    t.dtype = (DLDataType){0, 8, 1};
    accepts(&t, CVP_QUERY);
    cvp_tensor_strides(&t, strides);
    assert_true(strides[0] == INT64_MAX && strides[1] == INT64_MAX - 1);
}

static uint64_t seed_of_run(void)
{
    const char *text = getenv("CONVOP_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 20250101;
}

/* Walks all elements of small random tensors and counts how often each address is reached. */
static void outputs_that_pass_never_reach_an_element_twice(void **state)
{
    (void)state;
    uint64_t seed = seed_of_run(), random = seed;
    print_message("CONVOP_SEED=%" PRIu64 "\n", seed);
    int passed = 0, refused = 0;
    for (int run = 0; run < 20000; run++) {
        int64_t shape[4], strides[4], at[4] = {0};
        unsigned char reached[256] = {0};
        int64_t total = 1, twice = 0, last = 0;
        for (int i = 0; i < 4; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            shape[i] = 1 + (int64_t)((random >> 33) % 3);
            strides[i] = (int64_t)((random >> 40) % 28);
            total *= shape[i];
        }
        DLTensor t = tensor(4, shape, strides);
        for (int64_t n = 0; n < total; n++) {
            int64_t offset = 0;
            for (int i = 0; i < 4; i++) offset += at[i] * strides[i];
            twice += reached[offset]++ > 0;
            if (offset > last) last = offset;
            for (int i = 3; i >= 0 && ++at[i] == shape[i]; i--) at[i] = 0;
        }
        int good = cvp_tensor_check("Op", "dst", &t, CVP_OUTPUT) == CONVOP_OK;
        if (good && twice > 0) fail_msg("seed %" PRIu64 ", run %d: overlap", seed, run);
        passed += good;
        refused += !good;
        /* The range that the overlap check sees ends at the last element reached. */
        int64_t one[1] = {1};
        DLTensor next = tensor(1, one, NULL);
        next.data = memory + last;
        assert_int_equal(cvp_tensor_check_overlap("Op", "a", &t, "b", &next), CONVOP_E_INVALID);
        next.data = memory + last + 1;
        assert_int_equal(cvp_tensor_check_overlap("Op", "a", &t, "b", &next), CONVOP_OK);
    }
    assert_true(passed > 500 && refused > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank),
        cmocka_unit_test(sizes),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(devices),
        cmocka_unit_test(strides_of_inputs),
        cmocka_unit_test(strides_of_outputs),
        cmocka_unit_test(data),
        cmocka_unit_test(overlap),
        cmocka_unit_test(canonical_strides),
        cmocka_unit_test(outputs_that_pass_never_reach_an_element_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
