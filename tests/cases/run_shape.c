/* Inference: shapes that must come out, sizes beyond 32 and 64 bits. No element is touched. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "src/common/tensor.h"
#include "tests/cases/compare.h"
#include "tests/cases/element.h"
#include "tests/cases/run.h"

static const convop_shape unknown = {-1, {0}};

/* A case of which only the data's shape is given. */
struct query {
    const convop_op *op;
    struct conv v; /* parameters alone */
    convop_shape data, weight, output;
};

static void open_query(struct query *q, const struct test_case *c)
{
    memset(q, 0, sizeof *q);
    struct test_case params_only = derived_case(c);
    json_t *data = case_input(&params_only, "data");
    q->data.ndim = json_ints(json_object_get(data, "shape"), q->data.dim, CONVOP_MAX_DIMS);
    /* Nothing of that size is made. */
    const int64_t tiny[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    json_object_set_new(data, "shape", json_from_ints(tiny, q->data.ndim));
    json_object_set_new(params_only.json, "expect", json_string("error"));
    params_only.expect = "error";
    conv_open(&q->v, &params_only, AT_END);
    q->v.c = c;
    derived_case_free(&params_only);
    q->weight = q->output = unknown;
    assert_int_equal(convop_op_find("Convolution", &q->op), CONVOP_OK);
}

static void close_query(struct query *q)
{
    convop_op_release(&q->op);
    conv_close(&q->v);
}

static convop_status infer(struct query *q)
{
    convop_shape in[2] = {q->data, q->weight};
    convop_status status = convop_infer(q->op, &q->v.params, 2, in, 1, &q->output, NULL, NULL);
    q->data = in[0];
    q->weight = in[1];
    return status;
}

static void expect_shape(const convop_shape *got, const json_t *want)
{
    int64_t dim[CONVOP_MAX_DIMS];
    int ndim = json_ints(want, dim, CONVOP_MAX_DIMS);
    assert_int_equal(got->ndim, ndim);
    for (int i = 0; i < ndim; i++) assert_int_equal(got->dim[i], dim[i]);
}

static const json_t *expected_shape(const struct test_case *c)
{
    return json_object_get(json_object_get(json_object_get(c->json, "expected"), "output"),
                           "shape");
}

static void output_follows(struct query *q)
{
    assert_int_equal(q->v.parsed, CONVOP_OK);
    if (infer(q) != CONVOP_OK) fail_msg("%s", convop_last_error());
    expect_shape(&q->output, expected_shape(q->v.c));
}

static void plain(const struct test_case *c)
{
    struct query q;
    open_query(&q, c);
    output_follows(&q);
    close_query(&q);
}

/* 0 is a size like another, unknown is -1: whatever is given first, the same comes out. */
static void zero_is_a_size(const struct test_case *c)
{
    struct query q, partial;
    open_query(&q, c);
    output_follows(&q);
    open_query(&partial, c);
    partial.data.dim[0] = -1;
    partial.output = (convop_shape){4, {0, -1, -1, -1}};
    assert_int_equal(infer(&partial), CONVOP_OK);
    assert_memory_equal(&partial.output, &q.output, sizeof q.output);
    assert_int_equal(partial.data.dim[0], 0);
    close_query(&partial);
    open_query(&partial, c);
    partial.data.dim[0] = -1;
    assert_int_equal(infer(&partial), CONVOP_OK);
    assert_int_equal(partial.output.dim[0], -1);
    close_query(&partial);
    close_query(&q);
}

static void huge_stride(const struct test_case *c)
{
    struct query q;
    open_query(&q, c);
    convop_status status = q.v.parsed != CONVOP_OK ? q.v.parsed : infer(&q);
    if (status != CONVOP_OK) {
        assert_non_null(strstr(convop_last_error(), "stride"));
    } else {
        const convop_shape want = {4, {1, 2, 1, 6}};
        assert_memory_equal(&q.output, &want, sizeof want);
    }
    close_query(&q);
}

/* ---- beyond 32 bits -------------------------------------------------------------------------- */

static int64_t elements(const convop_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->ndim; i++) n *= s->dim[i];
    return n;
}

static void expect_number(const struct test_case *c, const char *key, int64_t got)
{
    const json_t *want = json_object_get(json_object_get(c->json, "expected"), key);
    if (want != NULL) assert_int_equal(got, json_integer_value(want));
}

/* What would run, for tensors that do not exist: the limit on scratch memory is kept. */
static void explain(struct query *q, DLDataType type)
{
    DLTensor src = {
        .device = {kDLCPU, 0}, .ndim = q->data.ndim, .dtype = type, .shape = q->data.dim};
    DLTensor weights = src, dst = src;
    weights.shape = q->weight.dim;
    dst.shape = q->output.dim;
    for (int direction = CONVOP_FWD; direction <= CONVOP_BWD_W; direction++) {
        convop_conv_row rows[CONV_MAX_ROWS];
        size_t count = CONV_MAX_ROWS;
        if (convop_conv_explain(&q->v.params, (convop_conv_direction)direction, &src, &weights,
                                &dst, NULL, rows, &count) != CONVOP_OK)
            fail_msg("%s", convop_last_error());
        int chosen = 0;
        for (size_t i = 0; i < count && i < CONV_MAX_ROWS; i++) {
            chosen += rows[i].chosen;
            assert_true(rows[i].workspace_bytes <= q->v.params.workspace_bytes);
        }
        assert_int_equal(chosen, 1);
    }
}

static void big(const struct test_case *c)
{
    struct query q;
    open_query(&q, c);
    output_follows(&q);
    const struct conv *v = &q.v;
    int channel = v->channels_last ? q.data.ndim - 1 : 1;
    int64_t columns = q.data.dim[channel] / v->g;
    for (int a = 0; a < v->axes; a++)
        columns *= v->k[a + 3 - v->axes] * q.output.dim[a + (v->channels_last ? 1 : 2)];
    expect_number(c, "input_elems", elements(&q.data));
    expect_number(c, "output_elems", elements(&q.output));
    expect_number(c, "im2col_elems_per_image_group", columns);
    explain(&q, element_type("f32"));
    explain(&q, element_type(json_string_value(json_object_get(case_input(c, "data"), "dtype"))));
    close_query(&q);
}

/* A product of sizes beyond 64 bits: refused by inference and before the memory is looked at. */
static void too_big(const struct test_case *c)
{
    struct query q;
    float memory[4] = {0};
    int64_t one[4] = {1, 1, 1, 1};
    open_query(&q, c);
    q.v.params.num_filter = 1;
    q.v.params.kernel = convop_tuple2(1, 1);
    q.v.params.no_bias = 1;
    uint64_t live = cvp_alloc_live();
    if (infer(&q) == CONVOP_OK) fail_msg("inference accepts it");
    compare_mention(c, convop_last_error());
    DLTensor src = {memory, {kDLCPU, 0}, 4, element_type("f32"), q.data.dim, NULL, 0};
    DLTensor weights = src, dst = src;
    weights.shape = one;
    if (conv_forward(&q.v.params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) == CONVOP_OK)
        fail_msg("conv_forward accepts it");
    compare_mention(c, convop_last_error());
    assert_int_equal(cvp_alloc_live(), live);
    close_query(&q);
    assert_true(library_is_usable());
}

static void tensor_sizes(const struct test_case *c)
{
    int64_t shape[CONVOP_MAX_DIMS];
    int ndim = json_ints(json_object_get(c->params, "shape"), shape, CONVOP_MAX_DIMS);
    DLTensor t = {.device = {kDLCPU, 0},
                  .ndim = ndim,
                  .shape = shape,
                  .dtype = element_type(json_string_value(json_object_get(c->params, "dtype")))};
    assert_int_equal(cvp_tensor_check("test", "t", &t, CVP_QUERY), CONVOP_OK);
    assert_int_equal(cvp_tensor_elements(&t), 2621440000);
    assert_int_equal(cvp_tensor_bytes(&t), 10485760000);
}

case_run run_shape_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"infer.zero_batch_unknown_vs_zero", zero_is_a_size},
        {"err.param.stride_huge", huge_stride},
        {"infer.dw_dilate3_stride2_136", plain},
        {"big.elem_count_gt_int64", too_big},
        {"big.size_2621440000", tensor_sizes},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    return strcmp(c->op, "infer_shape") == 0 && strncmp(c->id, "big.", 4) == 0 ? big : NULL;
}
