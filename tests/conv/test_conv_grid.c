/* Grids that leave nothing to chance: depthwise sizes, strides beyond the kernel, dilations, all
 * combinations of requests. Small integers, every row, equality. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/conv_fixed.h"

/* Every row of one direction; 0 if one is wrong. */
static int direction_is_right(struct conv_case *c, const struct conv_expected *e, int direction)
{
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    int count = conv_case_rows(c, (convop_conv_direction)direction, rows), good = count > 0;
    for (int i = 0; i < 3; i++)
        c->requests[i] = i == direction - 1 ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
    for (int r = 0; r < count; r++) {
        box_fill_value(conv_case_output(c, direction), NAN);
        convop_set("impl", rows[r].name);
        c->error_bound[direction] = rows[r].error_bound;
        convop_status status =
            direction == CONVOP_FWD ? conv_case_forward(c, NULL) : conv_case_backward(c, NULL);
        convop_set("impl", NULL);
        if (status == CONVOP_OK && conv_case_matches(c, e, direction)) continue;
        printf("row %s, direction %d: %s\n", rows[r].name, direction,
               status == CONVOP_OK ? "wrong" : convop_last_error());
        good = 0;
    }
    return good;
}

static int all_is_right(const struct conv_size *size)
{
    struct conv_case c;
    struct conv_expected e;
    int good = 1;
    conv_case_fixed(&c, size, 1, (uint64_t)(size->ic * 100 + size->i));
    conv_case_expect(&c, &e);
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) good &= direction_is_right(&c, &e, d);
    if (!good) conv_case_print(&c);
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return good;
}

static void depthwise(void **state)
{
    (void)state;
    int bad = 0;
    for (int i = 0; i < CONV_GRID_DEPTHWISE; i++) {
        const struct conv_size s = conv_grid_depthwise(i);
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* Elements between the windows are read by nothing: their gradient is 0, and is written. */
static void strides_beyond_the_kernel(void **state)
{
    (void)state;
    int bad = 0;
    for (int64_t k = 1; k <= 3; k++)
        for (int64_t s = k + 1; s <= 7; s++)
            for (int n = 0; n < 8; n++) {
                int last = n & 1, depthwise = n & 2;
                struct conv_size size = {.axes = n & 4 ? 1 : 2,
                                         .channels_last = last,
                                         .type = n & 4 ? BOX_F64 : BOX_F32,
                                         .mb = 2,
                                         .ic = 6,
                                         .oc = 6,
                                         .g = depthwise ? 6 : 1,
                                         .i = 13 + s % 3,
                                         .k = k,
                                         .s = s,
                                         .p = k - 1};
                bad += !all_is_right(&size);
            }
    assert_int_equal(bad, 0);
}

/* By data each output is then a phase of its own, with taps that look like a whole window. */
static void images_no_larger_than_the_stride(void **state)
{
    (void)state;
    int bad = 0;
    for (int64_t i = 1; i <= 3; i++)
        for (int64_t k = 3; k <= 10; k++)
            for (int n = 0; n < 4; n++) {
                const struct conv_size s = {.axes = 2,
                                            .channels_last = n & 1,
                                            .type = BOX_F32,
                                            .mb = 2,
                                            .ic = 19,
                                            .oc = 19,
                                            .g = n & 2 ? 19 : 1,
                                            .i = i,
                                            .k = k,
                                            .s = i < 2 ? 2 : i,
                                            .p = k / 2};
                bad += !all_is_right(&s);
            }
    assert_int_equal(bad, 0);
}

static int takes(const struct conv_size *size, const char *row)
{
    struct conv_case c;
    convop_conv_row rows[CONV_CASE_MAX_ROWS];
    int found = 0;
    conv_case_fixed(&c, size, 1, 1);
    const int count = conv_case_rows(&c, CONVOP_FWD, rows);
    for (int i = 0; i < count; i++) found |= strcmp(rows[i].name, row) == 0;
    conv_case_destroy(&c);
    return found;
}

/* Images of which every d-th pixel makes one that Winograd's tiles fill, evenly and not. */
static void dilated(void **state)
{
    (void)state;
    int bad = 0;
    for (int n = 0; n < 4; n++) {
        const int64_t d = 2 + n / 2;
        const int is_even = n == 0 || n == 3;
        struct conv_size s = {.axes = 2,
                              .channels_last = n & 1,
                              .type = BOX_F32,
                              .mb = 1,
                              .ic = 33,
                              .oc = 34,
                              .g = 1,
                              .i = is_even ? 8 * d : 8 * d - 1,
                              .k = 3,
                              .d = d,
                              .p = is_even ? d + 1 : d};
        assert_true(takes(&s, "winograd"));
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* So many weights for few of Winograd's tiles that a call transforms them panel by panel; the last
 * panel is not whole, nor are the tiles of the second and third. */
static void many_weights(void **state)
{
    (void)state;
    int bad = 0;
    for (int n = 0; n < 3; n++) {
        const struct conv_size s = {.axes = 2,
                                    .channels_last = n & 1,
                                    .type = BOX_F32,
                                    .mb = 1 + n / 2,
                                    .ic = n == 2 ? 276 : 150,
                                    .oc = n == 2 ? 282 : 135,
                                    .g = n == 2 ? 2 : 1,
                                    .i = 12 + n / 2,
                                    .k = 3,
                                    .p = 1};
        assert_true(takes(&s, "winograd"));
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* Depthwise windows of which every d-th pixel makes one without dilation, evenly and not. */
static void dilated_depthwise(void **state)
{
    (void)state;
    int bad = 0;
    for (int n = 0; n < 12; n++) {
        const int64_t d = 2 + n % 3;
        const struct conv_size s = {.axes = 2,
                                    .channels_last = 1,
                                    .type = n == 4 ? BOX_F64 : BOX_F32,
                                    .mb = 2,
                                    .ic = n & 1 ? 19 : 16,
                                    .oc = n & 1 ? 19 : 16,
                                    .g = n & 1 ? 19 : 16,
                                    .i = 4 * d + 3 + n / 4,
                                    .k = n < 9 ? 3 : 5,
                                    .d = d,
                                    .p = d - 1 + n / 4};
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* Windows that read so much padding that the row `packed` leaves it out. */
static void dilated_beyond_the_image(void **state)
{
    (void)state;
    int bad = 0;
    for (int n = 0; n < 6; n++) {
        const struct conv_size s = {.axes = 2,
                                    .channels_last = n & 1,
                                    .type = n == 2 ? BOX_F64 : BOX_F32,
                                    .mb = 4,
                                    .ic = n < 4 ? 20 : 260,
                                    .oc = n < 4 ? 34 : 5,
                                    .g = n < 4 ? 2 : 1,
                                    .i = 13,
                                    .k = 3,
                                    .d = 5 - n % 2,
                                    .p = 5 + n % 3 - 1};
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* Sums of more products than the row `packed` takes at a time, forward or by data. */
static void deep(void **state)
{
    (void)state;
    int bad = 0;
    for (int n = 0; n < 4; n++) {
        const struct conv_size s = {.axes = 2,
                                    .channels_last = n & 1,
                                    .type = BOX_F32,
                                    .mb = 1,
                                    .ic = n < 2 ? 1100 : 7,
                                    .oc = n < 2 ? 5 : 130,
                                    .g = 1,
                                    .i = 5,
                                    .k = n < 2 ? 1 : 3,
                                    .p = n / 2};
        bad += !all_is_right(&s);
    }
    assert_int_equal(bad, 0);
}

/* null, write and add for each of the three gradients. */
static int combination_is_right(struct conv_case *c, int combination)
{
    static const convop_request kinds[] = {CONVOP_REQ_NULL, CONVOP_REQ_WRITE, CONVOP_REQ_ADD};
    struct rng r = {(uint64_t)combination};
    unsigned char *before[4];
    struct conv_expected e;
    int at = combination, good;
    for (int i = 0; i < 3; i++, at /= 3) c->requests[i] = kinds[at % 3];
    for (int i = 1; i < 4; i++) box_fill_int(conv_case_output(c, i), &r, -9, 9);
    conv_case_expect(c, &e);
    for (int i = 0; i < 4; i++) before[i] = box_snapshot(conv_case_output(c, i));
    good = conv_case_backward(c, NULL) == CONVOP_OK;
    for (int i = 0; i < 4; i++) {
        int written = i > 0 && c->requests[i - 1] != CONVOP_REQ_NULL;
        int same = box_unchanged(conv_case_output(c, i), before[i]);
        good &= written ? conv_case_matches(c, &e, i) : same;
    }
    conv_expected_free(&e);
    return good;
}

static void request_combinations(void **state)
{
    (void)state;
    static const int types[] = {BOX_F32, BOX_F64, BOX_F16, BOX_BF16};
    int bad = 0;
    for (int n = 0; n < 16; n++)
        for (int64_t k = 1; k <= 3; k += 2) {
            int depthwise = n & 2;
            struct conv_size s = {.axes = 2,
                                  .channels_last = n & 1,
                                  .type = types[n / 4],
                                  .mb = 2,
                                  .ic = 4,
                                  .oc = depthwise ? 4 : 6,
                                  .g = depthwise ? 4 : 2,
                                  .i = 6,
                                  .k = k,
                                  .s = 1 + (n & 1),
                                  .p = k / 2};
            struct conv_case c;
            conv_case_fixed(&c, &s, 1, (uint64_t)n);
            for (int i = 0; i < 27; i++) {
                if (combination_is_right(&c, i)) continue;
                conv_case_print(&c);
                bad++;
            }
            conv_case_destroy(&c);
        }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depthwise),
        cmocka_unit_test(strides_beyond_the_kernel),
        cmocka_unit_test(images_no_larger_than_the_stride),
        cmocka_unit_test(dilated),
        cmocka_unit_test(many_weights),
        cmocka_unit_test(dilated_depthwise),
        cmocka_unit_test(dilated_beyond_the_image),
        cmocka_unit_test(deep),
        cmocka_unit_test(request_combinations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
