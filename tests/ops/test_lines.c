/* At verbose 1 each call of an operator writes one line, and Convolution its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "convop/convop.h"
#include "tests/support/expect.h"

static char lines[4][512];
static int num_lines;

static void keep(void *user, const char *line)
{
    (void)user;
    assert_true(num_lines < 4);
    strncpy(lines[num_lines++], line, sizeof lines[0] - 1);
}

static int64_t sizes[] = {2, 3};
static float values[6], results[6];

static DLTensor tensor(void *data)
{
    return (DLTensor){data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, NULL, 0};
}

static void relu(convop_request request)
{
    static const char *const keys[] = {"act_type"}, *const texts[] = {"relu"};
    DLTensor in = tensor(values), out = tensor(results);
    const DLTensor *const inputs[] = {&in};
    DLTensor *const outputs[] = {request == CONVOP_REQ_NULL ? NULL : &out};
    expect_ok(convop_invoke("Activation", 1, keys, texts, 1, inputs, 1, outputs, &request, NULL));
}

static void operators_write_a_line_each(void **state)
{
    (void)state;
    num_lines = 0;
    relu(CONVOP_REQ_WRITE);
    assert_int_equal(num_lines, 0);
    expect_ok(convop_set("verbose", "1"));
    relu(CONVOP_REQ_WRITE);
    relu(CONVOP_REQ_NULL);
    expect_ok(convop_set("verbose", NULL));
    assert_int_equal(num_lines, 2);
    assert_ptr_equal(strstr(lines[0], "convop,v1,op,Activation,-,float32:2x3,float32:2x3,"),
                     lines[0]);
    assert_ptr_equal(strstr(lines[1], "convop,v1,op,Activation,-,float32:2x3,-,"), lines[1]);
}

static void convolution_writes_its_own(void **state)
{
    (void)state;
    int64_t image[] = {1, 1, 2, 3}, filter[] = {1, 1, 1, 1};
    float weight[] = {2};
    DLTensor src = tensor(values), dst = tensor(results), weights = tensor(weight);
    src.ndim = dst.ndim = weights.ndim = 4;
    src.shape = dst.shape = image;
    weights.shape = filter;
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(1, 1);
    p.num_filter = p.no_bias = 1;
    num_lines = 0;
    expect_ok(convop_set("verbose", "1"));
    expect_ok(conv_forward(&p, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL));
    expect_ok(convop_set("verbose", NULL));
    assert_int_equal(num_lines, 1);
    assert_ptr_equal(strstr(lines[0], "convop,v1,exec,Convolution,FWD_D,"), lines[0]);
}

int main(void)
{
    convop_set_log_sink(keep, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_write_a_line_each),
        cmocka_unit_test(convolution_writes_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
