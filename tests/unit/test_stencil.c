/* Walks of a window against the definition dst[y] <- src[y * s + k * d - p]: each output comes
 * once, with all its taps and no other, each reading what it should; and in one zone, with the taps
 * that are inside.
 *
 *     CONVOP_SEED=<seed> test_stencil     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/size.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "tests/support/rng.h"

/* An axis of a problem: image, output, kernel, stride, dilation, padding. */
struct axis {
    int64_t i, o, k, s, d, p;
};

/* Any output size up to what the padding behind allows, which the problem does not hold. */
static struct axis random_axis(struct rng *r)
{
    struct axis a = {.i = rng_int(r, 1, 9),
                     .k = rng_chance(r, 40) ? 1 : rng_int(r, 2, 6),
                     .s = rng_chance(r, 40) ? 1 : rng_int(r, 2, 12),
                     .d = rng_chance(r, 50) ? 1 : rng_int(r, 2, 9),
                     .p = rng_chance(r, 40) ? 0 : rng_int(r, 1, 9)};
    const int64_t reach = (a.k - 1) * a.d + 1;
    int64_t padded = a.i + a.p + rng_int(r, 0, 9);
    if (padded < reach) padded = reach;
    a.o = rng_int(r, 1, (padded - reach) / a.s + 1);
    if (rng_chance(r, 10)) { /* pointwise */
        a.k = a.s = 1;
        a.p = 0;
        a.o = a.i;
    }
    return a;
}

static convop_conv_problem problem_of(const struct axis *a, convop_conv_direction direction)
{
    return (convop_conv_problem){.struct_size = sizeof(convop_conv_problem),
                                 .direction = direction,
                                 .mb = 1,
                                 .g = 1,
                                 .ic = 1,
                                 .oc = 1,
                                 .id = a[0].i,
                                 .ih = a[1].i,
                                 .iw = a[2].i,
                                 .od = a[0].o,
                                 .oh = a[1].o,
                                 .ow = a[2].o,
                                 .kd = a[0].k,
                                 .kh = a[1].k,
                                 .kw = a[2].k,
                                 .sd = a[0].s,
                                 .sh = a[1].s,
                                 .sw = a[2].s,
                                 .dd = a[0].d,
                                 .dh = a[1].d,
                                 .dw = a[2].d,
                                 .pd = a[0].p,
                                 .ph = a[1].p,
                                 .pw = a[2].p};
}

/* 1 if tap k of output `at` reads an input, in the image or out of it; *from: which. */
static int reads(const struct axis *a, convop_conv_direction direction, int64_t at, int64_t k,
                 int64_t *from)
{
    if (direction == CONVOP_FWD) {
        *from = at * a->s + k * a->d - a->p;
        return 1;
    }
    const int64_t steps = at + a->p - k * a->d;
    *from = steps / a->s;
    return steps % a->s == 0;
}

/* All taps of one output, by the walk and by the definition. */
static void check_taps(const struct axis *a, convop_conv_direction direction,
                       const struct stencil_axis *walk, int64_t t)
{
    const int64_t at = walk->out_first + t * walk->out_step;
    int64_t j = 0, from;
    for (int64_t k = 0; k < a->k; k++) {
        if (!reads(a, direction, at, k, &from)) continue;
        assert_true(j < walk->taps);
        assert_int_equal(walk->k_first + j * walk->k_step, k);
        const int64_t read = t * walk->in_step + walk->at_first + j * walk->at_step;
        assert_int_equal(read, from);
        assert_in_range(read - stencil_low(walk), 0, stencil_high(walk) - stencil_low(walk));
        if (read < 0 || read >= walk->in_size) assert_true(stencil_leaves_image(walk));
        j++;
    }
    assert_int_equal(j, walk->taps);
}

static void check_axis(const struct axis *a, convop_conv_direction direction,
                       const struct stencil_axis *walk, const struct stencil_axis *first)
{
    assert_int_equal(walk->in_size, direction == CONVOP_FWD ? a->i : a->o);
    assert_in_range(walk->count, 1, first->count);
    assert_true(walk->taps <= cvp_ceil_div(a->k, first->k_step));
    for (int64_t t = 0; t < walk->count; t++) check_taps(a, direction, walk, t);
    if (walk->taps == 0) return;
    assert_int_equal(stencil_reach(walk, walk->count), stencil_high(walk) - stencil_low(walk) + 1);
}

static int is_inside(const struct stencil_axis *a, int64_t t, int64_t j)
{
    const int64_t at = t * a->in_step + a->at_first + j * a->at_step;
    return at >= 0 && at < a->in_size;
}

/* Outputs of a zone of one axis: `begin` and on of the walk, with its taps that are inside. */
static void check_zone(const struct stencil_axis *walk, const struct stencil_axis *zone,
                       int64_t begin)
{
    for (int64_t t = 0; t < zone->count; t++) {
        int64_t i = 0;
        for (int64_t j = 0; j < walk->taps; j++) {
            if (!is_inside(walk, begin + t, j)) continue;
            assert_true(i < zone->taps);
            assert_int_equal(zone->k_first + i * zone->k_step, walk->k_first + j * walk->k_step);
            assert_int_equal(t * zone->in_step + zone->at_first + i * zone->at_step,
                             (begin + t) * walk->in_step + walk->at_first + j * walk->at_step);
            i++;
        }
        assert_int_equal(i, zone->taps);
        assert_int_equal(zone->out_first + t * zone->out_step,
                         walk->out_first + (begin + t) * walk->out_step);
    }
}

static void check_sparse(const struct stencil_axis *a)
{
    int64_t count = 0;
    for (int64_t t = 0; t < a->count; t++)
        for (int64_t j = 0; j < a->taps; j++) count += is_inside(a, t, j);
    const int is_sparse = a->taps > 0 && count <= a->count * a->taps * 3 / 4;
    assert_int_equal(cvp_conv_stencil_is_sparse(a), is_sparse);
}

/* An axis that is not cut is one zone with all taps. */
static void check_part(const struct stencil_axis *walk, int is_zoned,
                       const struct stencil_axis *zone, int64_t begin)
{
    if (is_zoned)
        check_zone(walk, zone, begin);
    else
        assert_memory_equal(zone, walk, sizeof *zone);
}

static void check_zones(const struct stencil *s, struct stencil_zones axes)
{
    struct stencil zone;
    int64_t at[3] = {0}, begin[3] = {0}, count = 0;
    while (cvp_conv_stencil_next_zone(s, axes, at, &zone)) {
        check_part(&s->d, axes.d, &zone.d, begin[0]);
        check_part(&s->h, axes.h, &zone.h, begin[1]);
        check_part(&s->w, axes.w, &zone.w, begin[2]);
        count += zone.d.count * zone.h.count * zone.w.count;
        memcpy(begin, at, sizeof at);
    }
    assert_int_equal(count, s->d.count * s->h.count * s->w.count);
}

static void check_problem(const struct axis *a, convop_conv_direction direction)
{
    const convop_conv_problem p = problem_of(a, direction);
    const int forward = direction == CONVOP_FWD;
    const int64_t h = forward ? a[1].o : a[1].i, w = forward ? a[2].o : a[2].i;
    const int64_t all = (forward ? a[0].o : a[0].i) * h * w;
    char *seen = calloc((size_t)all, 1);
    const struct stencil first = cvp_conv_stencil(&p, 0, 0);
    int64_t count = 0;
    for (int64_t phase = 0; phase < cvp_conv_phases(&p); phase++) {
        const struct stencil s = cvp_conv_stencil(&p, phase, 0);
        check_axis(&a[0], direction, &s.d, &first.d);
        check_axis(&a[1], direction, &s.h, &first.h);
        check_axis(&a[2], direction, &s.w, &first.w);
        check_zones(&s, (struct stencil_zones){1, 1, 1});
        check_zones(&s, (struct stencil_zones){phase & 1, 0, 1});
        check_sparse(&s.d);
        check_sparse(&s.h);
        check_sparse(&s.w);
        for (int64_t td = 0; td < s.d.count; td++)
            for (int64_t th = 0; th < s.h.count; th++)
                for (int64_t tw = 0; tw < s.w.count; tw++) {
                    const int64_t at = ((s.d.out_first + td * s.d.out_step) * h + s.h.out_first +
                                        th * s.h.out_step) *
                                           w +
                                       s.w.out_first + tw * s.w.out_step;
                    assert_in_range(at, 0, all - 1);
                    assert_int_equal(seen[at]++, 0);
                    count++;
                }
    }
    assert_int_equal(count, all);
    free(seen);
}

static void random_problems(void **state)
{
    (void)state;
    struct rng r = {test_seed(94)};
    for (int64_t n = test_scaled(4000); n > 0; n--) {
        struct axis a[3];
        for (int i = 0; i < 3; i++) a[i] = random_axis(&r);
        check_problem(a, CONVOP_FWD);
        check_problem(a, CONVOP_BWD_D);
    }
}

/* Merged axes are one long row: what is walked is the same, at the same places. */
static void merged(void **state)
{
    (void)state;
    struct rng r = {test_seed(95)};
    for (int64_t n = test_scaled(2000); n > 0; n--) {
        struct axis a[3];
        int in_place[3];
        const convop_conv_direction direction = rng_chance(&r, 50) ? CONVOP_FWD : CONVOP_BWD_D;
        for (int i = 0; i < 3; i++) {
            const int64_t size = rng_int(&r, 1, 5);
            a[i] = (struct axis){size, size, 1, 1, 1, 0};
            if (rng_chance(&r, 30)) a[i] = random_axis(&r);
            in_place[i] = a[i].k == 1 && a[i].s == 1 && a[i].p == 0 && a[i].o == a[i].i;
        }
        const convop_conv_problem p = problem_of(a, direction);
        const struct stencil whole = cvp_conv_stencil(&p, 0, 0), s = cvp_conv_stencil(&p, 0, 1);
        int64_t w = whole.w.count, h = whole.h.count, d = whole.d.count;
        if (in_place[2] && in_place[1]) {
            w *= h;
            h = 1;
            if (in_place[0]) {
                w *= d;
                d = 1;
            }
        }
        /* A single output with a step that is not taken may count as in place too. */
        assert_int_equal(s.d.count * s.h.count * s.w.count, w * h * d);
        if (a[1].s == 1 && a[2].s == 1) {
            assert_int_equal(s.w.count, w);
            assert_int_equal(s.h.count, h);
        }
        if (s.h.count == whole.h.count) continue;
        assert_int_equal(s.w.in_size, whole.w.in_size * whole.h.in_size *
                                          (s.d.count < whole.d.count ? whole.d.in_size : 1));
        assert_false(stencil_leaves_image(&s.w));
        assert_int_equal(s.w.taps, 1);
    }
}

/* Steps of single outputs and taps are not taken, and may be of any size. */
static void untaken_steps(void **state)
{
    (void)state;
    const struct axis one = {1, 1, 1, 1, 1, 0}, huge = {3, 1, 1, INT64_MAX, INT64_MAX, 1};
    const struct axis a[3] = {one, huge, huge};
    check_problem(a, CONVOP_FWD);
    check_problem(a, CONVOP_BWD_D);
    const convop_conv_problem p = problem_of(a, CONVOP_FWD);
    const struct stencil s = cvp_conv_stencil(&p, 0, 0);
    assert_int_equal(s.w.in_step, 1);
    assert_int_equal(s.w.at_step, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems),
        cmocka_unit_test(merged),
        cmocka_unit_test(untaken_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
