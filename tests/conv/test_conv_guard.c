/* Forbidden pages directly before and directly behind every tensor and the caller's workspace: no
 * row reads or writes beyond them, whatever the direction, dtype, layout, strides and tails.
 *
 *     CONVOP_CASE=<seed> test_conv_guard     repeats one random problem
 *     CONVOP_SEED=<seed> test_conv_guard     another series */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/guard.h"
#include "tests/support/placed.h"

/* What runs, for the handler of a fault. */
static char running[400];

static void on_fault(int number)
{
    static const char text[] = "a forbidden page was touched: ";
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    n = n < 0 ? n : write(STDERR_FILENO, running, strlen(running));
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

/* One row of one direction, with the tensors at one end or the other of their pages. 0 if wrong. */
static int run_row(struct conv_case *c, const struct conv_expected *e,
                   convop_conv_direction direction, const convop_conv_row *row, int at_end,
                   int own_workspace)
{
    struct guard memory[PLACED], scratch;
    struct placed p = {.c = c};
    convop_exec exec = CONVOP_EXEC_INIT;
    for (int i = 0; i < PLACED; i++) {
        memory[i] = guard_create(placed_bytes(c, i), at_end);
        placed_put(&p, i, memory[i].data);
    }
    /* Room to align it, and for a copy of a bias with gaps, which convop_conv_explain is not told
     * of. A row that takes more than it said runs into the page. */
    scratch = guard_create(row->workspace_bytes + 128 + 8 * (size_t)c->oc, at_end);
    if (own_workspace) {
        exec.workspace = scratch.data;
        exec.workspace_bytes = scratch.bytes;
    }
    snprintf(running, sizeof running, "row %s, %s, direction %d, CONVOP_CASE=%llu\n", row->name,
             at_end ? "behind" : "before", (int)direction, (unsigned long long)c->seed);
    convop_set("impl", row->name);
    c->error_bound[placed_output(direction)] = row->error_bound;
    convop_status status =
        direction == CONVOP_FWD ? placed_forward(&p, &exec) : placed_backward(&p, &exec);
    convop_set("impl", NULL);
    placed_take_back(&p);
    int good = status == CONVOP_OK && conv_case_matches(c, e, placed_output(direction));
    if (!good) {
        printf("%s%s", status == CONVOP_OK ? "" : convop_last_error(), running);
        conv_case_print(c);
    }
    for (int i = 0; i < PLACED; i++) guard_destroy(&memory[i]);
    guard_destroy(&scratch);
    return good;
}

/* Every row of every direction that the case asks for; outputs are as created before each. */
static int run_all(struct conv_case *c)
{
    convop_request asked[3];
    struct conv_expected e;
    unsigned char *fresh[4];
    int good = 1;
    conv_case_expect(c, &e);
    memcpy(asked, c->requests, sizeof asked);
    for (int i = 0; i < 4; i++) fresh[i] = box_snapshot(conv_case_output(c, i));
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) {
        convop_request request = d == CONVOP_FWD ? c->request : asked[d - 1];
        if (request == CONVOP_REQ_NULL || (d == CONVOP_BWD_B && c->params.no_bias)) continue;
        for (int i = 0; i < 3; i++) c->requests[i] = i == d - 1 ? request : CONVOP_REQ_NULL;
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        int count = conv_case_rows(c, (convop_conv_direction)d, rows);
        if (count == 0) good = 0, printf("no row: %s\n", convop_last_error());
        for (int r = 0; r < count; r++)
            for (int k = 0; k < 3; k++) {
                struct box *out = conv_case_output(c, d);
                memcpy(out->memory, fresh[d], out->bytes);
                good &= run_row(c, &e, (convop_conv_direction)d, &rows[r], k != 1, k != 0);
            }
    }
    memcpy(c->requests, asked, sizeof asked);
    for (int i = 0; i < 4; i++) free(fresh[i]);
    conv_expected_free(&e);
    return good;
}

static void random_problems(void **state)
{
    (void)state;
    const char *one = getenv("CONVOP_CASE");
    struct rng r = {test_seed(424242)};
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    int bad = 0;
    for (int64_t n = one ? 1 : test_scaled(350); n > 0 && bad < 5; n--) {
        struct conv_case c;
        conv_case_create(&c, one ? strtoull(one, NULL, 0) : rng_next(&r));
        bad += !run_all(&c);
        conv_case_destroy(&c);
    }
    assert_int_equal(bad, 0);
}

/* Depthwise, and channels around the widths of vectors, at sizes below and beside them. */
static void tails(void **state)
{
    (void)state;
    static const int64_t channels[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
    static const int types[] = {BOX_F32, BOX_F64, BOX_F16, BOX_BF16};
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    int bad = 0;
    for (size_t n = 0; n < sizeof channels / sizeof channels[0]; n++)
        for (int k = 0; k < 16; k++) {
            int64_t ch = channels[n];
            int depthwise = k & 1, wide = k & 8;
            struct conv_size s = {.axes = 2,
                                  .channels_last = k >> 1 & 1,
                                  .type = types[(k + (int)n) % 4],
                                  .mb = 1,
                                  .ic = ch,
                                  .oc = ch,
                                  .g = depthwise ? ch : 1,
                                  .i = wide ? 9 : 4,
                                  .k = k & 4 ? 1 : 3,
                                  .s = 1 + (k >> 3),
                                  .p = k & 4 ? 0 : 1};
            struct conv_case c;
            conv_case_fixed(&c, &s, 1, (uint64_t)k + 1);
            bad += !run_all(&c);
            conv_case_destroy(&c);
        }
    assert_int_equal(bad, 0);
}

/* Problems for rows that take larger ones alone, or cut them otherwise. */
static void larger(void **state)
{
    (void)state;
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    for (int last = 0; last < 2; last++) {
        const struct conv_size sizes[] = {{2, last, BOX_F32, 1, 33, 35, 1, 13, 3, 1, 1, 1},
                                          {2, last, BOX_F32, 1, 9, 21, 1, 52, 1, 1, 1, 0},
                                          {2, last, BOX_F64, 1, 21, 9, 1, 52, 1, 1, 1, 0}};
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct conv_case c;
            conv_case_fixed(&c, &sizes[i], 1, 1);
            assert_true(run_all(&c));
            conv_case_destroy(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(tails),
        cmocka_unit_test(larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
