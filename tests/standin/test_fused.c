/* convop_conv_forward_add on the stand-in's GPU: the residual as a tensor of its own, dst itself,
 * or apart from dst with the request INPLACE; and measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "tests/standin/set_up.h"
#include "tests/support/expect.h"

#define ADDED 7 /* to each element */

/* A convolution with a residual, all of whose elements are ADDED. */
struct fused {
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    DLTensor residual;
    unsigned long long memory;
};

static void begin(struct fused *f)
{
    plain_make(&f->c, &f->e, 1);
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&f->g, &set_up.gpu, &f->c, 0);
    const size_t bytes = placed_bytes(&f->c, P_DST);
    float *values = malloc(bytes);
    MUST_BE(values != NULL);
    for (size_t i = 0; i < bytes / sizeof *values; i++) values[i] = ADDED;
    MUST(set_up.gpu.driver->mem_alloc(&f->memory, bytes));
    set_up.gpu.standin->write(f->memory, values, bytes);
    free(values);
    f->residual = f->g.placed.at[P_DST];
    f->residual.data = (void *)(uintptr_t)f->memory;
}

static void end(struct fused *f)
{
    MUST(set_up.gpu.driver->mem_free(f->memory));
    on_gpu_free(&f->g);
    set_up_leave();
    conv_expected_free(&f->e);
    conv_case_destroy(&f->c);
}

static convop_status run(struct fused *f, const DLTensor *residual, convop_request request)
{
    DLTensor *at = f->g.placed.at;
    return convop_conv_forward_add(&f->c.params, &at[P_SRC], &at[P_WEIGHTS], &at[P_BIAS], residual,
                                   &at[P_DST], request, NULL);
}

/* Takes dst back without what was added to it. */
static int is_right(struct fused *f)
{
    int64_t sizes[5], at[5];
    struct box *dst = conv_case_output(&f->c, 0);
    on_gpu_take_back(&f->g);
    box_sizes(dst, sizes);
    BOX_FOR_EACH(sizes, at) box_set(dst, at, box_get(dst, at) - ADDED);
    return conv_case_matches(&f->c, &f->e, 0);
}

static void apart_from_dst(void **state)
{
    (void)state;
    static const convop_request requests[] = {CONVOP_REQ_WRITE, CONVOP_REQ_INPLACE};
    for (int i = 0; i < 2; i++) {
        struct fused f;
        begin(&f);
        expect_ok(run(&f, &f.residual, requests[i]));
        assert_true(is_right(&f));
        end(&f);
    }
}

static void dst_itself(void **state)
{
    (void)state;
    struct fused f;
    begin(&f);
    MUST(set_up.gpu.driver->copy_on_device((uintptr_t)f.g.memory[P_DST], f.memory,
                                           placed_bytes(&f.c, P_DST), NULL));
    expect_ok(run(&f, &f.g.placed.at[P_DST], CONVOP_REQ_INPLACE));
    assert_true(is_right(&f));
    end(&f);
}

/* The residual's rows have an element between them. */
static void apart_with_gaps_is_refused(void **state)
{
    (void)state;
    struct fused f;
    begin(&f);
    DLTensor *dst = &f.g.placed.at[P_DST];
    int64_t shape[4], strides[4] = {0};
    memcpy(shape, dst->shape, sizeof shape);
    const int64_t row = shape[3];
    unsigned long long wide;
    strides[3] = 1;
    strides[2] = row + 1;
    strides[1] = strides[2] * shape[2];
    strides[0] = strides[1] * shape[1];
    MUST(set_up.gpu.driver->mem_alloc(&wide, (size_t)(strides[0] * shape[0]) * sizeof(float)));
    f.residual.data = (void *)(uintptr_t)wide;
    f.residual.strides = strides;
    assert_int_equal(run(&f, &f.residual, CONVOP_REQ_INPLACE), CONVOP_E_UNSUPPORTED);
    assert_non_null(strstr(convop_last_error(), "residual and dst lie apart and one has gaps"));
    MUST(set_up.gpu.driver->mem_free(wide));
    end(&f);
}

/* A candidate is given a residual as the call is. */
static void is_measured_with_a_residual(void **state)
{
    (void)state;
    struct fused f;
    begin(&f);
    MUST(convop_set("impl", ""));
    f.c.params.cudnn_tune = CONVOP_TUNE_LIMITED_WORKSPACE;
    const long before = set_up.gpu.standin->calls("cuEventElapsedTime");
    expect_ok(run(&f, &f.residual, CONVOP_REQ_WRITE));
    assert_true(set_up.gpu.standin->calls("cuEventElapsedTime") > before);
    assert_true(is_right(&f));
    MUST(convop_set("impl", "cudnn"));
    end(&f);
}

int main(int argc, char **argv)
{
    const int code = set_up_begin(argc, argv);
    if (code) return code;
    MUST(convop_set("cache_dir", "none"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apart_from_dst),
        cmocka_unit_test(dst_itself),
        cmocka_unit_test(apart_with_gaps_is_refused),
        cmocka_unit_test(is_measured_with_a_residual),
    };
    return set_up_end(cmocka_run_group_tests_name("fused", tests, NULL, NULL));
}
