/* Records as lines: what is written is read back, in any locale; what is altered is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/operator/tuning/record.h"
#include "tests/support/expect.h"

static convop_tune_record sample(void)
{
    return (convop_tune_record){.struct_size = sizeof(convop_tune_record),
                                .device = "cpu=Test CPU;isa=avx2",
                                .software = "convop=1",
                                .problem = "mb1ic3ih224oc64kh7",
                                .impl = "gemm",
                                .impl_version = 3,
                                .ms = 0.123456,
                                .estimated_ms = 12.5,
                                .workspace_bytes = 4096,
                                .when = 1796040000,
                                .plan = "{\"engine\": 3}"};
}

static char *encode(const convop_tune_record *r, size_t *length)
{
    char *line = NULL;
    expect_ok(cvp_tune_encode("test", r, &line, length));
    assert_int_equal(line[*length - 1], '\n');
    (*length)--;
    return line;
}

static void check_round_trip(const convop_tune_record *r)
{
    size_t length;
    int format;
    char *line = encode(r, &length), texts[4096], *at = texts;
    convop_tune_record back;
    assert_int_equal(cvp_tune_line_kind(line, length, &format), CVP_TUNE_CHOICE);
    assert_true(length < sizeof texts);
    assert_int_equal(cvp_tune_unpack(line, length, &at, &back), 1);
    assert_true(at <= texts + length);
    assert_string_equal(back.device, r->device);
    assert_string_equal(back.software, r->software);
    assert_string_equal(back.problem, r->problem);
    assert_string_equal(back.impl, r->impl);
    assert_string_equal(back.plan, r->plan);
    assert_int_equal(back.impl_version, r->impl_version);
    assert_true(back.ms == r->ms && back.estimated_ms == r->estimated_ms);
    assert_int_equal(back.workspace_bytes, r->workspace_bytes);
    assert_int_equal(back.when, r->when);
    assert_int_equal(cvp_tune_line_when(line, length), r->when);
    cvp_free(line);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    convop_tune_record r = sample();
    check_round_trip(&r);
    r.plan = "";
    r.ms = 0;
    r.estimated_ms = 99999999.999999;
    r.impl_version = INT_MAX;
    r.when = 0;
    r.device = "\xc3\xa9 \\ \" '";
    check_round_trip(&r);
}

static void the_format_is_the_documented_one(void **state)
{
    (void)state;
    convop_tune_record r = sample();
    size_t length;
    char *line = encode(&r, &length), header[CVP_TUNE_HEADER_SIZE];
    assert_string_equal(line, "choice\tcpu=Test CPU;isa=avx2\tconvop=1\tmb1ic3ih224oc64kh7\tgemm\t3"
                              "\t0.123456\t12.500000\t4096\t1796040000\t{\"engine\": 3}"
                              "\t0e4d5eed3a15cca2\n");
    cvp_free(line);
    length = cvp_tune_header(header);
    assert_int_equal(length, strlen("#convop-tuning\t1\t06d09471a63f3d5b\n"));
    assert_memory_equal(header, "#convop-tuning\t1\t06d09471a63f3d5b\n", length);
    int format = 0;
    assert_int_equal(cvp_tune_line_kind(header, length - 1, &format), CVP_TUNE_HEADER);
    assert_int_equal(format, 1);
}

/* The point of numbers is no comma, whatever the host has set. */
static void a_locale_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, names[i])) break;
    convop_tune_record r = sample();
    check_round_trip(&r);
    size_t length;
    char *line = encode(&r, &length);
    assert_non_null(strstr(line, "\t0.123456\t"));
    cvp_free(line);
    setlocale(LC_ALL, "C");
}

static void any_changed_bit_is_seen(void **state)
{
    (void)state;
    convop_tune_record r = sample();
    size_t length;
    int format;
    char *line = encode(&r, &length);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        line[bit / 8] ^= (char)(1 << bit % 8);
        assert_int_not_equal(cvp_tune_line_kind(line, length, &format), CVP_TUNE_CHOICE);
        line[bit / 8] ^= (char)(1 << bit % 8);
    }
    for (size_t n = 0; n < length; n++)
        assert_int_not_equal(cvp_tune_line_kind(line, n, &format), CVP_TUNE_CHOICE);
    assert_int_equal(cvp_tune_line_kind(line, length, &format), CVP_TUNE_CHOICE);
    cvp_free(line);
}

static void refuses(convop_tune_record r)
{
    char *line = NULL;
    size_t length;
    assert_int_equal(cvp_tune_encode("test", &r, &line, &length), CONVOP_E_INVALID);
    assert_null(line);
}

static void what_no_line_can_hold_is_refused(void **state)
{
    (void)state;
    convop_tune_record r = sample();
    const char **const texts[] = {&r.device, &r.software, &r.problem, &r.impl, &r.plan};
    for (size_t i = 0; i < 5; i++) {
        const char *was = *texts[i];
        static const char *const bad[] = {NULL, "a\tb", "a\nb", "a\rb", "\x01", "\x7f", ""};
        for (size_t k = 0; k < (i == 4 ? 6u : 7u); k++) {
            *texts[i] = bad[k];
            refuses(r);
        }
        *texts[i] = was;
    }
    const char *const was = r.impl;
    r.impl = "a name of sixty-four bytes, for which an answer has not the room";
    assert_int_equal(strlen(r.impl), 64);
    refuses(r);
    char line[256];
    struct cvp_tune_fields fields;
    for (int more = 0; more < 2; more++) {
        int n = snprintf(line, sizeof line, "choice\td\ts\tp\t%s\t1\t1\t1\t1\t1\t\t%016d",
                         r.impl + 1 - more, 0);
        assert_int_equal(cvp_tune_decode(line, (size_t)n, &fields), !more);
    }
    r.impl = was;
    static const double numbers[] = {-1, 1e8, 1e300};
    for (size_t i = 0; i < 3; i++) {
        convop_tune_record bad = r;
        bad.ms = numbers[i];
        refuses(bad);
        bad = r;
        bad.estimated_ms = numbers[i];
        refuses(bad);
    }
    convop_tune_record bad = r;
    bad.ms = __builtin_nan("");
    refuses(bad);
    bad = r;
    bad.impl_version = -1;
    refuses(bad);
    bad = r;
    bad.when = -1;
    refuses(bad);
}

static void keys_are_compared_whole(void **state)
{
    (void)state;
    convop_tune_record r = sample();
    size_t length;
    char *line = encode(&r, &length);
    struct cvp_tune_key key = {r.device, r.software, r.problem};
    assert_int_equal(cvp_tune_line_is(line, &key), 1);
    assert_int_equal(cvp_tune_key_hash(&key), cvp_tune_line_hash(line));
    static const char *const others[] = {"mb1ic3ih224oc64kh", "mb1ic3ih224oc64kh77", "x", ""};
    for (size_t i = 0; i < 4; i++) {
        struct cvp_tune_key other = key;
        other.problem = others[i];
        assert_int_equal(cvp_tune_line_is(line, &other), 0);
        assert_int_not_equal(cvp_tune_key_hash(&other), cvp_tune_line_hash(line));
    }
    convop_tune_record second = r;
    second.problem = "mb1ic3ih224oc64kh77";
    char *second_line = encode(&second, &length);
    assert_int_equal(cvp_tune_lines_equal(line, second_line), 0);
    assert_int_equal(cvp_tune_lines_equal(second_line, line), 0);
    cvp_free(second_line);
    second = r;
    second.impl = "direct";
    second_line = encode(&second, &length);
    assert_int_equal(cvp_tune_lines_equal(line, second_line), 1);
    cvp_free(second_line);
    cvp_free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_format_is_the_documented_one),
        cmocka_unit_test(a_locale_changes_nothing),
        cmocka_unit_test(any_changed_bit_is_seen),
        cmocka_unit_test(what_no_line_can_hold_is_refused),
        cmocka_unit_test(keys_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
