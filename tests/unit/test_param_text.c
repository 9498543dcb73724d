/* One field from text: every form of every kind, and every refusal's sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/registry/field.h"
#include "tests/support/expect.h"
#include "tests/support/sample_op.h"

static convop_status read_field(int index, const char *text, union cvp_field_value *value)
{
    const struct cvp_field_site site = {"Sample", &sample_fields[index], text};
    return cvp_field_parse(&site, value);
}

static union cvp_field_value accept(int index, const char *text)
{
    union cvp_field_value value;
    if (read_field(index, text, &value) != CONVOP_OK) fail_msg("%s", convop_last_error());
    return value;
}

/* INVALID with `Sample: parameter NAME="TEXT": SENTENCE`, and nothing written. */
static void refuse(int index, const char *text, const char *sentence)
{
    union cvp_field_value value, before;
    memset(&value, 0x5a, sizeof value);
    before = value;
    char expected[600];
    snprintf(expected, sizeof expected, "Sample: parameter %s=\"%s\": %s",
             sample_fields[index].name, text, sentence);
    expect_text(CONVOP_E_INVALID, expected, read_field(index, text, &value));
    assert_memory_equal(&value, &before, sizeof value);
}

static void booleans(void **state)
{
    (void)state;
    static const char *const yes[] = {"true", "True", "TRUE", "tRuE", "1", " 1 ", "\tTrue\n"};
    static const char *const no[] = {"false", "False", "FALSE", "0", " 0", "false "};
    static const char *const neither[] = {"", " ", "2", "yes", "01", "true1", "-1", "None", "t r"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_int_equal(accept(FLAG, yes[i]).boolean, 1);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_int_equal(accept(FLAG, no[i]).boolean, 0);
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++)
        refuse(FLAG, neither[i], "is no boolean, allowed is True, False, 1, 0");
}

static void integers(void **state)
{
    (void)state;
    static const char *const none[] = {"",  " ",   "x",   "3x",  "0x10", "3.0",  "1e3", "3 4",
                                       "-", "+ 3", "--3", "3,0", "3L",   "None", "(3)"};
    const char *range = "is -1, allowed is 0..9223372036854775807";
    const char *large = "does not fit into 64 bits, allowed is 0..9223372036854775807";
    assert_int_equal(accept(COUNT, "0").integer, 0);
    assert_int_equal(accept(COUNT, " +12\t").integer, 12);
    assert_int_equal(accept(COUNT, "007").integer, 7);
    assert_int_equal(accept(COUNT, "-0").integer, 0);
    assert_true(accept(COUNT, "9223372036854775807").integer == INT64_MAX);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refuse(COUNT, none[i], "is no decimal integer");
    refuse(COUNT, "-1", range);
    refuse(COUNT, "-9223372036854775808",
           "is -9223372036854775808, allowed is 0..9223372036854775807");
    refuse(COUNT, "9223372036854775808", large);
    refuse(COUNT, "-9223372036854775809", large);
    refuse(COUNT, "18446744073709551617", large);
    refuse(COUNT, "100000000000000000000000000000", large);

    convop_field narrow = sample_fields[COUNT];
    narrow.min = -2.5, narrow.max = 2.5;
    union cvp_field_value value;
    struct cvp_field_site site = {"Sample", &narrow, "-2"};
    expect_ok(cvp_field_parse(&site, &value));
    assert_int_equal(value.integer, -2);
    site.text = "3";
    expect_text(CONVOP_E_INVALID, "Sample: parameter count=\"3\": is 3, allowed is -2..2",
                cvp_field_parse(&site, &value));
    narrow.min = -INFINITY;
    site.text = "-9223372036854775808";
    expect_ok(cvp_field_parse(&site, &value));
    assert_true(value.integer == INT64_MIN);
}

static void numbers(void **state)
{
    (void)state;
    static const char *const none[] = {"", " ", "x", "0,5", "0.5x", "0.5 0.5", ".", "None", "1e"};
    assert_true(accept(RATIO, "0.5").real == 0.5);
    assert_true(accept(RATIO, " 1 ").real == 1);
    assert_true(accept(RATIO, "1e-3").real == 1e-3);
    assert_true(accept(RATIO, "0x1p-3").real == 0.125);
    assert_true(accept(RATIO, "1e-320").real == 1e-320);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) refuse(RATIO, none[i], "is no number");
    refuse(RATIO, "1.5", "is 1.5, allowed is 0..1");
    refuse(RATIO, "-0.25", "is -0.25, allowed is 0..1");
    refuse(RATIO, "nan", "is nan, allowed is 0..1");
    refuse(RATIO, "inf", "is inf, allowed is 0..1");
    refuse(RATIO, "1e999", "does not fit into a double");
    refuse(RATIO, "-1e999", "does not fit into a double");

    convop_field open = sample_fields[RATIO];
    open.min = -INFINITY, open.max = INFINITY;
    union cvp_field_value value;
    struct cvp_field_site site = {"Sample", &open, "-inf"};
    expect_ok(cvp_field_parse(&site, &value));
    assert_true(value.real == -INFINITY);
    site.text = "nan";
    expect_text(CONVOP_E_INVALID, "Sample: parameter ratio=\"nan\": is nan, allowed is -inf..inf",
                cvp_field_parse(&site, &value));
}

/* Sets a locale with a decimal comma, made in folder: few machines have one. 0: no way. */
static int set_comma_locale(const char *folder)
{
    char path[100], command[300];
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n",
          file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "localedef -c -f ANSI_X3.4-1968 -i %s/source %s/comma >/dev/null 2>&1", folder,
             folder);
    if (system(command) == -1) return 0; /* its status only says that other categories are absent */
    return setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_NUMERIC, "comma") != NULL;
}

static void remove_folder(const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void numbers_in_another_locale(void **state)
{
    (void)state;
    char folder[] = "/tmp/convop-locale-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const int set = set_comma_locale(folder);
    if (!set) {
        remove_folder(folder);
        print_message("no localedef to make a locale with a decimal comma\n");
        skip();
    }
    char comma[8];
    snprintf(comma, sizeof comma, "%.1f", 0.5);
    const double read = accept(RATIO, "0.25").real;
    char text[40], error[200];
    struct sample_params p = {.ratio = 0.25};
    convop_params_format(&sample_fields[RATIO], &p, text, sizeof text);
    union cvp_field_value value;
    read_field(RATIO, "1.5", &value);
    snprintf(error, sizeof error, "%s", convop_last_error());
    setlocale(LC_NUMERIC, "C");
    remove_folder(folder);
    assert_string_equal(comma, "0,5"); /* else this tests nothing */
    assert_true(read == 0.25);
    assert_string_equal(text, "0.25");
    assert_string_equal(error, "Sample: parameter ratio=\"1.5\": is 1.5, allowed is 0..1");
}

static void enums(void **state)
{
    (void)state;
    const char *sentence = "is not in the list, allowed is None, off, fast";
    assert_int_equal(accept(MODE, "None").choice, 0);
    assert_int_equal(accept(MODE, " off ").choice, 3);
    assert_int_equal(accept(MODE, "fast").choice, 5);
    refuse(MODE, "", sentence);
    refuse(MODE, "none", sentence);
    refuse(MODE, "offf", sentence);
    refuse(MODE, "of", sentence);
    refuse(MODE, "3", sentence);

    static const convop_enum_value no_none[] = {{"on", 1}, {NULL, 0}};
    convop_field field = sample_fields[MODE];
    field.values = no_none;
    const struct cvp_field_site site = {"Sample", &field, "None"};
    union cvp_field_value value;
    expect_text(CONVOP_E_INVALID,
                "Sample: parameter mode=\"None\": is not in the list, allowed is on",
                cvp_field_parse(&site, &value));
}

static void tuples(void **state)
{
    (void)state;
    static const char *const pairs[] = {"(3,4)",  "[3,4]",    "(3, 4)",   " ( 3 , 4 ) ", "(3,4,)",
                                        "[3,4,]", "(3L, 4L)", "(3L,4L,)", "(+3,04)",     "( 3,4 )"};
    static const char *const ones[] = {"3", "(3)", "(3,)", "[3]", "[3,]", " 3 ", "3L", "(3L,)"};
    static const char *const empty[] = {"()", "[]", "( )", "None", " None "};
    static const char *const none[] = {
        "",     " ",     "x",      "(",       ")",      "(3",    "(3,",     "(3,4",   "3,4",
        "(,)",  "(,3)",  "(3,,4)", "(3 4)",   "(3,4]",  "[3,4)", "(3,4))",  "(3,4)x", "(3.0,4)",
        "(3,x", "(3;4)", "{3,4}",  "(None,)", "None,3", "Nones", "(3l, 4)", "3LL",    "((3,4))"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const convop_tuple t = accept(KERNEL, pairs[i]).tuple;
        assert_int_equal(t.len, 2);
        assert_int_equal(t.at[0], 3);
        assert_int_equal(t.at[1], 4);
    }
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        const convop_tuple t = accept(KERNEL, ones[i]).tuple;
        assert_int_equal(t.len, 1);
        assert_int_equal(t.at[0], 3);
    }
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        assert_int_equal(accept(KERNEL, empty[i]).tuple.len, 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refuse(KERNEL, none[i], "is no tuple of integers, such as (3,3), [3,3], (3,) or 3");

    assert_int_equal(accept(KERNEL, "(1,2,3,4,5,6,7,8)").tuple.at[7], 8);
    refuse(KERNEL, "(1,2,3,4,5,6,7,8,9)", "has 9 entries, allowed is 0..8");
    refuse(KERNEL, "(0,1)", "entry 0 is 0, allowed is 1..9223372036854775807");
    refuse(KERNEL, "(3,-1)", "entry 1 is -1, allowed is 1..9223372036854775807");
    refuse(KERNEL, "-1", "entry 0 is -1, allowed is 1..9223372036854775807");
    refuse(PAD, "(0,101)", "entry 1 is 101, allowed is 0..100");
    refuse(PAD, "(0,-1)", "entry 1 is -1, allowed is 0..100");
    refuse(KERNEL, "(1,9223372036854775808)",
           "entry 1 does not fit into 64 bits, allowed is 1..9223372036854775807");
    refuse(KERNEL, "9223372036854775808",
           "entry 0 does not fit into 64 bits, allowed is 1..9223372036854775807");
    /* The text that is quoted is cut off, the sentence is not. */
    char longest[300], expected[500];
    memset(longest, '(', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    snprintf(
        expected, sizeof expected,
        "Sample: parameter kernel=\"%.80s...\": is no tuple of integers, such as (3,3), [3,3], "
        "(3,) or 3",
        longest);
    union cvp_field_value value;
    expect_text(CONVOP_E_INVALID, expected, read_field(KERNEL, longest, &value));
}

static void bytes(void **state)
{
    (void)state;
    static const char *const none[] = {"", "x", "1.5", "3M", "1024MB", "None", "10 B", "B", "7BB"};
    assert_int_equal(accept(WORKSPACE, "0").bytes, 0);
    assert_int_equal(accept(WORKSPACE, " 1024 ").bytes, (size_t)1 << 30);
    assert_true(accept(WORKSPACE, "17592186044415").bytes == SIZE_MAX - 0xfffff);
    assert_int_equal(accept(WORKSPACE, "1000B").bytes, 1000);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refuse(WORKSPACE, none[i], "is no whole number of MiB, nor of bytes as in 4096B");
    refuse(WORKSPACE, "-1", "is -1, allowed is 0..17592186044415 MiB");
    refuse(WORKSPACE, "-1B", "is -1, allowed is 0..17592186044415 MiB");
    refuse(WORKSPACE, "17592186044416", "is 17592186044416, allowed is 0..17592186044415 MiB");
    refuse(WORKSPACE, "9223372036854775808",
           "does not fit into 64 bits, allowed is 0..17592186044415");

    convop_field narrow = sample_fields[WORKSPACE];
    narrow.min = 1, narrow.max = 2;
    union cvp_field_value value;
    struct cvp_field_site site = {"Sample", &narrow, "2097152B"};
    expect_ok(cvp_field_parse(&site, &value));
    site.text = "2097153B";
    expect_text(CONVOP_E_INVALID,
                "Sample: parameter workspace=\"2097153B\": is 2097153 bytes, allowed is 1..2 MiB",
                cvp_field_parse(&site, &value));
    site.text = "1048575B";
    assert_int_equal(cvp_field_parse(&site, &value), CONVOP_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(booleans), cmocka_unit_test(integers),
        cmocka_unit_test(numbers),  cmocka_unit_test(numbers_in_another_locale),
        cmocka_unit_test(enums),    cmocka_unit_test(tuples),
        cmocka_unit_test(bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
