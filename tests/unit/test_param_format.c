/* Values to text, and back to the same value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/registry/field.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static void expect_format(int index, const struct sample_params *p, const char *expected)
{
    char text[200];
    assert_int_equal(convop_params_format(&sample_fields[index], p, text, sizeof text),
                     strlen(expected));
    assert_string_equal(text, expected);
}

static void formats(void **state)
{
    (void)state;
    struct sample_params p = {.struct_size = sizeof p};
    expect_format(KERNEL, &p, "()");
    p.kernel = convop_tuple1(3);
    expect_format(KERNEL, &p, "(3,)");
    p.kernel = convop_tuple2(3, 4);
    expect_format(KERNEL, &p, "(3, 4)");
    p.kernel.len = 1000; /* never read beyond its end */
    expect_format(KERNEL, &p, "(3, 4, 0, 0, 0, 0, 0, 0)");
    p.kernel.len = -1;
    expect_format(KERNEL, &p, "()");
    expect_format(FLAG, &p, "False");
    p.flag = 1;
    expect_format(FLAG, &p, "True");
    expect_format(MODE, &p, "None");
    p.mode = 5;
    expect_format(MODE, &p, "fast");
    p.mode = 77;
    expect_format(MODE, &p, "77");
    p.count = INT64_MIN;
    expect_format(COUNT, &p, "-9223372036854775808");
    p.ratio = 0.1;
    expect_format(RATIO, &p, "0.1");
    p.ratio = 1.0 / 3;
    expect_format(RATIO, &p, "0.3333333333333333");
    p.ratio = -INFINITY;
    expect_format(RATIO, &p, "-inf");
    p.workspace = (size_t)1 << 30;
    expect_format(WORKSPACE, &p, "1024");
    p.workspace++;
    expect_format(WORKSPACE, &p, "1073741825B");
}

static void format_with_little_room(void **state)
{
    (void)state;
    struct sample_params p = {.kernel = convop_tuple2(3, 4)};
    char text[8] = "zzzzzzz";
    assert_int_equal(convop_params_format(&sample_fields[KERNEL], &p, text, 4), 6);
    assert_string_equal(text, "(3,");
    assert_int_equal(text[4], 'z');
    assert_int_equal(convop_params_format(&sample_fields[KERNEL], &p, NULL, 0), 6);
    assert_int_equal(convop_params_format(&sample_fields[KERNEL], &p, NULL, 9), 6);
    assert_int_equal(convop_params_format(NULL, &p, text, sizeof text), 0);
    assert_string_equal(text, "");
    text[0] = 'z';
    assert_int_equal(convop_params_format(&sample_fields[KERNEL], NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* Any value that a field can hold comes back from its text bit for bit. */
static void round_trips(void **state)
{
    (void)state;
    const char *given = getenv("CONVOP_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15u;
    print_message("CONVOP_SEED=%llu\n", (unsigned long long)seed);
    if (seed == 0) seed = 1;
    convop_field real = sample_fields[RATIO], integer = sample_fields[COUNT];
    real.min = integer.min = -INFINITY;
    real.max = integer.max = INFINITY;
    for (int i = 0; i < 20000; i++) {
        struct sample_params p = {.struct_size = sizeof p};
        const uint64_t bits = next_random(&seed);
        memcpy(&p.ratio, &bits, sizeof bits);
        memcpy(&p.count, &bits, sizeof bits);
        p.count >>= next_random(&seed) % 64;
        p.workspace = bits >> next_random(&seed) % 44;
        if (i % 2) p.workspace = p.workspace >> 20 << 20;
        if (p.workspace > INT64_MAX) p.workspace = p.workspace >> 21 << 20;
        p.kernel.len = (int)(next_random(&seed) % 9);
        for (int k = 0; k < p.kernel.len; k++)
            p.kernel.at[k] = (int64_t)(next_random(&seed) >> (1 + next_random(&seed) % 62)) + 1;
        const struct {
            const convop_field *field;
            const void *value;
        } each[] = {{&integer, &p.count},
                    {&sample_fields[WORKSPACE], &p.workspace},
                    {&sample_fields[KERNEL], &p.kernel},
                    {&real, &p.ratio}};
        for (size_t k = 0; k < (isnan(p.ratio) ? 3 : 4); k++) {
            char text[300];
            convop_params_format(each[k].field, &p, text, sizeof text);
            const struct cvp_field_site site = {"Sample", each[k].field, text};
            union cvp_field_value back;
            expect_ok(cvp_field_parse(&site, &back));
            if (memcmp(&back, each[k].value, cvp_field_size(each[k].field->kind)) != 0)
                fail_msg("%s=%s does not come back", each[k].field->name, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(format_with_little_room),
        cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
