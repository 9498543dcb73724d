/* The lines of log of a convolution: their forms, and that the descriptor in them is the problem,
 * by the reader that `convop bench` has.
 *
 *     CONVOP_SEED=<seed> test_conv_lines     other problems */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "tests/support/conv_fixed.h"
#include "tests/support/tune_rows.h"
#include "tools/problems/descriptor.h"

#define PROBLEMS  400
#define MAX_LINES 128
#define FIELDS    18

static char lines[MAX_LINES][1024];
static int num_lines;

static void note(void *user, const char *line)
{
    (void)user;
    if (num_lines < MAX_LINES) snprintf(lines[num_lines++], sizeof lines[0], "%s", line);
}

/* The fields of the next line from *at on that is of that kind, behind "convop,v1,"; 0: there is
 * none. */
static int next_line(int *at, const char *kind, char *field[FIELDS])
{
    static char text[1024];
    for (; *at < num_lines; ++*at) {
        int n = 0;
        strcpy(text, lines[*at]);
        char *rest = text;
        for (char *f; n < FIELDS && (f = strsep(&rest, ",")) != NULL;) field[n++] = f;
        if (strcmp(field[0], "convop") != 0 || strcmp(field[1], "v1") != 0)
            fail_msg("%s", lines[*at]);
        if (strcmp(field[2], kind) == 0) return ++*at, n;
    }
    return 0;
}

static int is_axis(const struct axis *a, const struct conv_case *c, int at)
{
    return a->i == c->i[at] && a->o == c->o[at] && a->k == c->k[at] && a->s == c->s[at] &&
           a->d == c->d[at] - 1 && a->p == c->p0[at];
}

static int is_problem(const char *text, const struct conv_case *c)
{
    struct descriptor d;
    struct descriptor_error error;
    int same = descriptor_parse(text, &d, &error) && d.ndim == c->axes && d.mb == c->mb &&
               d.g == c->g && d.ic == c->ic && d.oc == c->oc;
    for (int a = 3 - c->axes; same && a < 3; a++) same = is_axis(&d.axis[a], c, a);
    return same;
}

static void descriptors_are_exact(void **state)
{
    (void)state;
    const char *text = getenv("CONVOP_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 10) : 20261130;
    int seen = 0;
    expect_ok(convop_set("verbose", "1"));
    for (uint64_t i = 0; i < PROBLEMS; i++) {
        struct conv_case c;
        char *field[FIELDS];
        conv_case_create(&c, seed + i);
        num_lines = 0;
        if (conv_case_forward(&c, NULL) != CONVOP_OK || conv_case_backward(&c, NULL) != CONVOP_OK)
            fail_msg("CONVOP_SEED=%llu: %s", (unsigned long long)(seed + i), convop_last_error());
        for (int at = 0; next_line(&at, "exec", field) == 12; seen++) {
            /* The bias gradient looks at dst alone. */
            if (strcmp(field[4], "BWD_B") == 0) continue;
            if (!is_problem(field[7], &c))
                fail_msg("CONVOP_SEED=%llu test_conv_lines: %s", (unsigned long long)(seed + i),
                         field[7]);
            assert_int_equal(field[4][4] == 'B', !c.params.no_bias && field[4][0] == 'F');
            assert_string_equal(field[9], "estimated");
        }
        conv_case_destroy(&c);
    }
    assert_true(seen > PROBLEMS);
}

static void forms_are_as_documented(void **state)
{
    (void)state;
    struct problem x;
    char *field[FIELDS];
    make_problem(&x);
    add_row(0, "wrong", 20, 1, 1);
    add_row(1, "good", 5, 1, 0);
    expect_ok(convop_set("autotune", "1"));
    expect_ok(convop_set("tune_verify", "1"));
    expect_ok(convop_set("verbose", "1"));
    expect_ok(forward(&x));
    int at = 0;
    assert_int_equal(next_line(&at, "tune", field), 11);
    assert_string_equal(field[5], "f32:nchw");
    assert_string_equal(field[6], "mb1ic4ih5oc4oh5kh1");
    assert_string_equal(field[7], "-");
    assert_string_equal(field[8], "begin");
    assert_int_equal(next_line(&at, "fault", field), 10);
    assert_string_equal(field[8], "wrong");
    assert_non_null(strstr(field[9], "differs from"));
    assert_int_equal(next_line(&at, "tune", field), 11);
    assert_string_equal(field[8], "end");
    assert_string_equal(field[9], "good");
    assert_int_equal(next_line(&at, "exec", field), 12);
    assert_string_equal(field[3], "Convolution");
    assert_string_equal(field[4], "FWD_D");
    assert_int_equal(strncmp(field[5], "good:", 5), 0);
    assert_string_equal(field[9], "measured");
    assert_true(strtod(field[10], NULL) >= 0 && strtod(field[11], NULL) >= 0);
    at = 0;
    assert_int_equal(next_line(&at, "measure", field), 0);
    assert_int_equal(next_line(&at, "dispatch", field), 0);

    expect_ok(convop_set("verbose", "2"));
    expect_ok(convop_tune_forget(NULL, NULL));
    num_lines = at = 0;
    expect_ok(forward(&x));
    int measured = 0, rows = 0, chosen = 0;
    while (next_line(&at, "measure", field) == 12) measured += strtod(field[10], NULL) > 0;
    assert_true(measured >= 2);
    at = 0;
    assert_int_equal(next_line(&at, "lookup", field), 11);
    assert_string_equal(field[9], "miss");
    at = 0;
    assert_int_equal(next_line(&at, "create", field), 11);
    assert_string_equal(field[8], "good");
    assert_string_equal(field[9], "measured");
    assert_string_equal(field[10], "0");
    /* A reason may have commas of its own. */
    while (next_line(&at, "dispatch", field) >= 9) {
        rows++;
        chosen += strcmp(field[6], "chosen") == 0;
        assert_int_equal(strcmp(field[6], "no") == 0, strcmp(field[8], "-") != 0);
    }
    assert_int_equal(chosen, 1);
    assert_true(rows >= 5);
    at = 0;
    assert_int_equal(next_line(&at, "price", field), 0);

    expect_ok(convop_set("verbose", "3"));
    expect_ok(convop_tune_forget(NULL, NULL));
    num_lines = at = 0;
    expect_ok(forward(&x));
    int prices = 0;
    for (int n; (n = next_line(&at, "price", field)) > 0; prices++) {
        assert_int_equal(n, 17);
        assert_string_equal(field[3], "Convolution");
        for (int i = 5; i < n; i++) assert_true(strtod(field[i], NULL) >= 0);
        assert_true(strtod(field[5], NULL) >= 1 && strtod(field[6], NULL) > 0);
    }
    assert_true(prices >= 3);
}

static int set_up(void **state)
{
    convop_set_log_sink(note, NULL);
    num_lines = 0;
    return tune_set_up(state);
}

#define LINES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tune_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINES_TEST(descriptors_are_exact),
        LINES_TEST(forms_are_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
