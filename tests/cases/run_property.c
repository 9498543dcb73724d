/* Properties of results: layouts and ranks that must agree, scaling, special numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cases/compare.h"
#include "tests/cases/run.h"

/* ---- the same problem with another rank ------------------------------------------------------ */

static void insert_one(json_t *array, size_t at, int64_t value)
{
    json_array_insert_new(array, at, json_integer(value));
}

/* A problem of one axis less, with an axis of size 1 in front. NCHW only. */
static struct test_case with_unit_axis(const struct test_case *c)
{
    static const char *const tuples[] = {"kernel", "stride", "dilate", "pad"};
    struct test_case wide = derived_case(c);
    size_t axes = json_array_size(json_object_get(wide.params, "kernel"));
    for (size_t i = 0; i < 4; i++)
        insert_one(json_object_get(wide.params, tuples[i]), 0, i < 3 ? 1 : 0);
    json_object_set_new(wide.params, "layout", json_string(axes == 1 ? "NCHW" : "NCDHW"));
    size_t k;
    json_t *input;
    json_array_foreach(json_object_get(wide.json, "inputs"), k, input)
    {
        json_t *shape = json_object_get(input, "shape");
        if (json_array_size(shape) > 1) insert_one(shape, 2, 1);
    }
    return wide;
}

/* The problem without its first axis: sizes of a problem of one axis less, not the same numbers. */
static struct test_case without_first_axis(const struct test_case *c)
{
    static const char *const tuples[] = {"kernel", "stride", "dilate", "pad"};
    struct test_case thin = derived_case(c);
    for (size_t i = 0; i < 4; i++) json_array_remove(json_object_get(thin.params, tuples[i]), 0);
    json_object_set_new(thin.params, "layout", json_string("NCW"));
    size_t k;
    json_t *input;
    json_array_foreach(json_object_get(thin.json, "inputs"), k, input)
    {
        json_t *shape = json_object_get(input, "shape");
        if (json_array_size(shape) > 1) json_array_remove(shape, 2);
    }
    return thin;
}

/* Both compute, each by every row, and the chosen rows give the same bits. */
static void same_numbers(const struct test_case *a, const struct test_case *b)
{
    struct conv v, w;
    conv_open(&v, a, AT_END);
    conv_open(&w, b, AT_END);
    run_all_ways(&v);
    run_all_ways(&w);
    run_once(&v, NULL, NULL);
    run_once(&w, NULL, NULL);
    for (int i = 0; i < OUTPUTS; i++) {
        if (v.req[i] == CONVOP_REQ_NULL) continue;
        assert_int_equal(v.out[i].memory.bytes, w.out[i].memory.bytes);
        assert_memory_equal(v.out[i].memory.data, w.out[i].memory.data, v.out[i].memory.bytes);
    }
    conv_close(&v);
    conv_close(&w);
}

static struct test_case forward_of(const struct test_case *c)
{
    struct test_case forward = derived_case(c);
    json_object_set_new(forward.json, "op", json_string("conv_fwd"));
    struct test_case again = case_of(forward.json);
    return again;
}

static void rank_does_not_matter(const struct test_case *c)
{
    struct test_case forward = forward_of(c), thin = without_first_axis(c);
    struct test_case thin_forward = forward_of(&thin);
    const struct test_case *all[] = {c, &forward, &thin, &thin_forward};
    for (size_t i = 0; i < 4; i++) {
        struct test_case wide = with_unit_axis(all[i]);
        same_numbers(all[i], &wide);
        derived_case_free(&wide);
    }
    derived_case_free(&forward);
    derived_case_free(&thin);
    derived_case_free(&thin_forward);
}

/* ---- the same problem in the other layout ---------------------------------------------------- */

/* Where the element at (n, c, y, x) of a 4-D NCHW tensor is in the NHWC one. */
static int64_t moved(const int64_t nchw[4], int64_t i)
{
    int64_t x = i % nchw[3], y = i / nchw[3] % nchw[2], c = i / (nchw[3] * nchw[2]) % nchw[1];
    int64_t n = i / (nchw[3] * nchw[2] * nchw[1]);
    return ((n * nchw[2] + y) * nchw[3] + x) * nchw[1] + c;
}

static void move_tensor(struct tensor *to, const struct tensor *from)
{
    for (int64_t i = 0; i < from->count; i++)
        tensor_set(to, from->dl.ndim == 4 ? moved(from->shape, i) : i, tensor_get(from, i));
}

static struct test_case channels_last(const struct test_case *c)
{
    struct test_case last = derived_case(c);
    json_object_set_new(last.params, "layout", json_string("NHWC"));
    size_t k;
    json_t *input;
    json_array_foreach(json_object_get(last.json, "inputs"), k, input)
    {
        json_t *shape = json_object_get(input, "shape");
        if (json_array_size(shape) != 4) continue;
        json_t *channels = json_incref(json_array_get(shape, 1));
        json_array_remove(shape, 1);
        json_array_append_new(shape, channels);
    }
    return last;
}

static void compare_layouts(const struct test_case *first)
{
    struct test_case last = channels_last(first);
    struct conv v, w;
    conv_open(&v, first, AT_END);
    conv_open(&w, &last, AT_END);
    for (int i = 0; i < INPUTS; i++)
        if (v.in[i].memory.pages != NULL) move_tensor(&w.in[i], &v.in[i]);
    conv_reset(&w);
    run_once(&v, NULL, NULL);
    if (conv_call(&w, NULL) != CONVOP_OK) fail_msg("channels last: %s", convop_last_error());
    for (int i = 0; i < OUTPUTS; i++) {
        if (v.req[i] == CONVOP_REQ_NULL) continue;
        for (int64_t k = 0; k < v.out[i].count; k++) {
            double a = tensor_get(&v.out[i], k);
            double b = tensor_get(&w.out[i], v.out[i].dl.ndim == 4 ? moved(v.out[i].shape, k) : k);
            if (a != b)
                fail_msg("%s[%lld]: %g, channels last: %g", conv_output_names[i], (long long)k, a,
                         b);
        }
    }
    conv_close(&v);
    conv_close(&w);
    derived_case_free(&last);
}

/* The case with other channels, filters, groups and dtype; backward with an out_grad added. */
static struct test_case variant(const struct test_case *c, int64_t ic, int64_t oc, int64_t g,
                                const char *dtype, int backward)
{
    struct test_case v = derived_case(c);
    json_object_set_new(v.params, "num_filter", json_integer(oc));
    json_object_set_new(v.params, "num_group", json_integer(g));
    json_t *inputs = json_object_get(v.json, "inputs");
    json_array_set_new(json_object_get(case_input(&v, "data"), "shape"), 1, json_integer(ic));
    json_array_set_new(json_object_get(case_input(&v, "weight"), "shape"), 0, json_integer(oc));
    json_array_set_new(json_object_get(case_input(&v, "weight"), "shape"), 1, json_integer(ic / g));
    json_array_set_new(json_object_get(case_input(&v, "bias"), "shape"), 0, json_integer(oc));
    if (backward) {
        json_t *out_grad = json_deep_copy(case_input(&v, "data")); /* pad keeps the size */
        json_object_set_new(out_grad, "name", json_string("out_grad"));
        json_array_set_new(json_object_get(out_grad, "shape"), 1, json_integer(oc));
        json_array_append_new(inputs, out_grad);
        json_object_set_new(v.json, "op", json_string("conv_bwd"));
    }
    size_t k;
    json_t *input;
    json_array_foreach(inputs, k, input) json_object_set_new(input, "dtype", json_string(dtype));
    return case_of(v.json);
}

static void layouts_agree(const struct test_case *c)
{
    static const int64_t sizes[][3] = {{4, 6, 2}, {4, 4, 4}, {1, 6, 1}, {4, 1, 1}, {4, 8, 4}};
    static const char *const types[] = {"f32", "f64", "f16", "bf16"};
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int backward = 0; backward < 2; backward++) {
                struct test_case v =
                    variant(c, sizes[s][0], sizes[s][1], sizes[s][2], types[t], backward);
                /* Sums of small integers: exact in 8 bits only up to 256, so the oracle rounds. */
                compare_layouts(&v);
                derived_case_free(&v);
            }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Scaling the gradient by a power of two scales what follows from it to the bit. */
static void homogeneity(const struct test_case *c)
{
    static const double alphas[] = {0.5, 2, 1024};
    struct conv v;
    conv_open(&v, c, AT_END);
    for (int output = DATA_GRAD; output <= WEIGHT_GRAD; output++) {
        convop_conv_row rows[CONV_MAX_ROWS];
        size_t count = conv_rows(&v, conv_direction(output), rows, CONV_MAX_ROWS);
        assert_true(count > 0);
        for (int i = 0; i < OUTPUTS; i++)
            v.req[i] = i == output ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
        for (size_t r = 0; r < count; r++) {
            if (!rows[r].applicable) continue;
            assert_int_equal(convop_set("impl", rows[r].name), CONVOP_OK);
            assert_int_equal(conv_call(&v, NULL), CONVOP_OK);
            double *once = tensor_values(&v.out[output]), *grad = tensor_values(&v.in[OUT_GRAD]);
            for (size_t a = 0; a < 3; a++) {
                for (int64_t i = 0; i < v.in[OUT_GRAD].count; i++)
                    tensor_set(&v.in[OUT_GRAD], i, grad[i] * alphas[a]);
                assert_int_equal(conv_call(&v, NULL), CONVOP_OK);
                for (int64_t i = 0; i < v.out[output].count; i++)
                    if (tensor_get(&v.out[output], i) != once[i] * alphas[a])
                        fail_msg("row %s: %s[%lld] times %g", rows[r].name,
                                 conv_output_names[output], (long long)i, alphas[a]);
            }
            for (int64_t i = 0; i < v.in[OUT_GRAD].count; i++)
                tensor_set(&v.in[OUT_GRAD], i, grad[i]);
            free(once);
            free(grad);
        }
        convop_set("impl", NULL);
    }
    conv_close(&v);
}

/* A tiny number comes through, or is flushed to 0, and is nothing else. */
static void denormals(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END);
    convop_conv_row rows[CONV_MAX_ROWS];
    size_t count = conv_rows(&v, CONVOP_FWD, rows, CONV_MAX_ROWS);
    for (size_t r = 0; r < count; r++) {
        if (!rows[r].applicable) continue;
        conv_reset(&v);
        assert_int_equal(convop_set("impl", rows[r].name), CONVOP_OK);
        assert_int_equal(conv_call(&v, NULL), CONVOP_OK);
        for (int64_t i = 0; i < v.out[OUTPUT].count; i++) {
            double got = tensor_get(&v.out[OUTPUT], i);
            if (got != 0 && got != (double)1e-40f) fail_msg("row %s: %g", rows[r].name, got);
        }
    }
    convop_set("impl", NULL);
    conv_close(&v);
}

#ifdef __SSE2__
#include <immintrin.h>

static void float_state(const struct test_case *c)
{
    static const unsigned states[] = {0x1f80, 0x9fc0, 0x3f80, 0x7f80, 0xffc0};
    struct conv v;
    conv_open(&v, c, AT_END);
    unsigned before = _mm_getcsr();
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        _mm_setcsr(states[i]);
        convop_status status = conv_call(&v, NULL);
        unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(status, CONVOP_OK);
        assert_int_equal(after & ~0x3fu, states[i] & ~0x3fu); /* but for the sticky flags */
        compare_outputs(&v, NULL);
        conv_reset(&v);
    }
    conv_close(&v);
}
#else
static void float_state(const struct test_case *c)
{
    (void)c;
    skip_case("the state of the floating-point unit is read on x86 only");
}
#endif

static void refused_or_naive(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END);
    if (conv_call(&v, NULL) == CONVOP_OK) {
        compare_outputs(&v, NULL);
    } else {
        assert_non_null(strstr(convop_last_error(), "stride"));
        compare_nothing_written(&v, "refused");
    }
    conv_close(&v);
}

case_run run_property_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"nd.path_equals_2d", rank_does_not_matter},
        {"st.layouts_agree", layouts_agree},
        {"dw.homogeneity", homogeneity},
        {"den.kept_or_flushed", denormals},
        {"den.mxcsr_restored", float_state},
        {"st.negative_w", refused_or_naive},
        {"st.negative_h", refused_or_naive},
        {"layout.supported_or_refused.NHWC", run_naive},
        {"layout.supported_or_refused.NDHWC", run_naive},
        {"nan.channel_tail", run_naive},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    return NULL;
}
