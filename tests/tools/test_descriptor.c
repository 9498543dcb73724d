/* Descriptors: benchdnn's defaults, what is refused and where, and that writing reads back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "tests/support/rng.h"
#include "tools/problems/descriptor.h"

static struct descriptor read_good(const char *text)
{
    struct descriptor d;
    struct descriptor_error error;
    memset(&d, 0x5a, sizeof d);
    if (!descriptor_parse(text, &d, &error)) fail_msg("%s: %s at %zu", text, error.text, error.at);
    return d;
}

static void expect_axis(const struct descriptor *d, int axis, struct axis want)
{
    const struct axis *a = &d->axis[axis];
    assert_int_equal(a->i, want.i);
    assert_int_equal(a->o, want.o);
    assert_int_equal(a->k, want.k);
    assert_int_equal(a->s, want.s);
    assert_int_equal(a->p, want.p);
    assert_int_equal(a->pe, want.pe);
    assert_int_equal(a->d, want.d);
}

/* Of two texts that mean the same. */
static void expect_same(const char *text, const char *other)
{
    struct descriptor a = read_good(text), b = read_good(other);
    assert_int_equal(a.ndim, b.ndim);
    assert_int_equal(a.g, b.g);
    assert_int_equal(a.mb, b.mb);
    assert_int_equal(a.ic, b.ic);
    assert_int_equal(a.oc, b.oc);
    for (int i = 0; i < 3; i++) expect_axis(&a, i, b.axis[i]);
}

static void expect_refusal(const char *text, size_t at, const char *why)
{
    struct descriptor d;
    struct descriptor_error error;
    if (descriptor_parse(text, &d, &error)) fail_msg("%s was taken", text);
    if (!strstr(error.text, why)) fail_msg("%s: %s", text, error.text);
    if (error.at != at) fail_msg("%s: %s at %zu, not %zu", text, error.text, error.at, at);
}

static void mobilenet_layer_is_read(void **state)
{
    (void)state;
    struct descriptor d = read_good("g32mb1ic32ih112oc32kh3sh2ph1n\"mbv1:dw2\"");
    assert_int_equal(d.ndim, 2);
    assert_int_equal(d.g, 32);
    assert_int_equal(d.mb, 1);
    assert_int_equal(d.ic, 32);
    assert_int_equal(d.oc, 32);
    expect_axis(&d, 0, (struct axis){1, 1, 1, 1, 0, 0, 0});
    expect_axis(&d, 1, (struct axis){112, 56, 3, 2, 1, 1, 0});
    expect_axis(&d, 2, (struct axis){112, 56, 3, 2, 1, 1, 0});
    assert_int_equal(d.name_length, 8);
    assert_memory_equal(d.name, "mbv1:dw2", 8);
}

static void defaults_are_benchdnns(void **state)
{
    (void)state;
    struct descriptor d = read_good("ic3ih8oc4kh3");
    assert_int_equal(d.g, 1);
    assert_int_equal(d.mb, 2);
    expect_axis(&d, 2, (struct axis){8, 6, 3, 1, 0, 0, 0});
    assert_int_equal(d.name_length, 0);
    assert_int_equal(read_good("mb0ic3ih8oc4kh3").mb, 0);
    expect_same("g2_mb3_ic4ih5_oc6_kh1", "g2mb3ic4ih5oc6kh1");
    expect_same("ic3oc4kh3ih8", "ic3ih8oc4kh3");
}

static void dilation_counts_from_zero(void **state)
{
    (void)state;
    struct descriptor dense = read_good("ic1ih9oc1kh3dh0"), wide = read_good("ic1ih9oc1kh3dh1");
    assert_int_equal(dense.axis[1].o, 7);
    assert_int_equal(wide.axis[1].o, 5);
    assert_int_equal(wide.axis[2].d, 1);
}

static void given_output_decides_the_end(void **state)
{
    (void)state;
    /* as TensorFlow pads "same": nothing before, one after */
    struct descriptor d = read_good("ic3ih224oc8oh112kh3sh2ph0");
    expect_axis(&d, 1, (struct axis){224, 112, 3, 2, 0, 1, 0});
    /* no padding given: half of what is needed, rounded down */
    d = read_good("ic3ih224oc8oh112kh3sh2");
    expect_axis(&d, 1, (struct axis){224, 112, 3, 2, 0, 1, 0});
    d = read_good("ic3ih7oc8oh7kh4");
    expect_axis(&d, 1, (struct axis){7, 7, 4, 1, 1, 2, 0});
    /* an end that no window reaches needs no padding, and is no mistake */
    d = read_good("ic3ih7oc8oh1kh11sh2ph5");
    expect_axis(&d, 1, (struct axis){7, 1, 11, 2, 5, 0, 0});
    /* what the padding gives anyway stays symmetric */
    d = read_good("ic3ih112oc8oh56kh3sh2ph1");
    expect_axis(&d, 1, (struct axis){112, 56, 3, 2, 1, 1, 0});
}

static void axes_follow_each_other(void **state)
{
    (void)state;
    assert_int_equal(read_good("ic3iw8oc4kw3").ndim, 1);
    assert_int_equal(read_good("ic3id8oc4kd3").ndim, 3);
    struct descriptor d = read_good("ic3id8oc4kd3sd2pd1");
    for (int i = 0; i < 3; i++) expect_axis(&d, i, (struct axis){8, 4, 3, 2, 1, 1, 0});
    /* the neutral values of an axis do not make one */
    assert_int_equal(read_good("ic3id0sd1pd0ih8oc4kh3").ndim, 2);
    /* what w lacks is h's */
    d = read_good("ic3ih8iw20oc4kh3sh2ph1");
    expect_axis(&d, 2, (struct axis){20, 10, 3, 2, 1, 1, 0});
    d = read_good("ic3ih8oc4kh3kw1ph1pw0");
    expect_axis(&d, 2, (struct axis){8, 8, 1, 1, 0, 0, 0});
    /* but a w with input and kernel is an axis of its own */
    d = read_good("ic3ih8iw20oc4kh3kw5sh2ph1");
    expect_axis(&d, 2, (struct axis){20, 16, 5, 1, 0, 0, 0});
}

static void mistakes_are_shown_where_they_are(void **state)
{
    (void)state;
    expect_refusal("ic3x4", 3, "unknown key");
    expect_refusal("ic3ih8oc4kh3zz", 12, "unknown key");
    expect_refusal("ic3ih8oc4kh3 ", 12, "unknown key");
    expect_refusal("ic3ih8oc4kh", 11, "number is missing");
    expect_refusal("ic3ih-8oc4kh1", 5, "number is missing");
    expect_refusal("ic3ih8oc4kh2147483648", 11, "above 2147483647");
    expect_refusal("ic3ih8oc4kh3ih9", 12, "ih is given twice");
    expect_same("ic3ih8_ih8oc4kh3", "ic3ih8oc4kh3");
    expect_refusal("", 0, "ic is missing");
    expect_refusal("nfoo", 0, "ic is missing");
    expect_refusal("ic3ih8kh3nfoo", 9, "oc is missing");
    expect_refusal("ic3oc4", 6, "no axis");
    expect_refusal("ic3ih8oc4", 9, "kh is missing");
    expect_refusal("ic3oc4kh3", 9, "ih is missing");
    expect_refusal("ic0ih8oc4kh3", 0, "ic is missing");
    expect_refusal("g0ic3ih8oc4kh3", 0, "at least 1");
    expect_refusal("ic3ih8oc4kh3sh0", 12, "stride");
    expect_refusal("ic4g3ih8oc3kh3", 3, "divide ic");
    expect_refusal("ic3g3ih8oc4kh3", 3, "divide oc");
    expect_refusal("ic3ih8oc4kh9", 9, "spans 9");
    expect_refusal("ic3ih8oc4oh3kh3", 9, "would be 6");
}

static void largest_numbers_do_not_overflow(void **state)
{
    (void)state;
    struct descriptor d =
        read_good("mb2147483647ic2147483647ih2147483647oc2147483647kh1ph2147483647");
    assert_int_equal(d.axis[1].o, 3 * (int64_t)INT32_MAX);
    expect_refusal("ic1ih1oc1kh2147483647dh2147483647", 9, "spans");
    expect_refusal("ic1ih1oc1oh2147483647kh2147483647sh2147483647dh2147483647", 9, "padding");
}

static void cut_off_text_stays_inside(void **state)
{
    (void)state;
    struct descriptor d = read_good("ic3ih8oc4kh3n\"a name\"");
    char text[64], whole[64];
    descriptor_format(&d, whole, sizeof whole);
    assert_string_equal(whole, "mb2ic3ih8oc4kh3n\"a name\"");
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        memset(text, 'z', sizeof text);
        descriptor_format(&d, text, size);
        assert_int_equal(text[size], 'z');
        if (size) assert_int_equal(strncmp(text, whole, size - 1), 0);
        if (size) assert_int_equal(text[size - 1], 0);
    }
}

static int rng_below(struct rng *r, int below)
{
    return (int)rng_int(r, 0, below - 1);
}

/* A random descriptor, often a wrong one. */
static void random_text(struct rng *r, char *text, size_t size)
{
    static const char *const keys[] = {"g",  "mb", "id", "ih", "iw", "od", "oh", "ow", "kd", "kh",
                                       "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};
    size_t n = (size_t)snprintf(text, size, "ic%doc%d", 2 * (1 + rng_below(r, 3)),
                                2 * (1 + rng_below(r, 3)));
    for (int i = 0; i < 20; i++) {
        if (rng_below(r, 3) != 0) continue;
        int top = keys[i][0] == 'i' ? 12 : keys[i][0] == 'o' ? 9 : 4;
        n += (size_t)snprintf(text + n, size - n, "%s%d", keys[i], rng_below(r, top));
    }
}

static void writing_reads_back(void **state)
{
    (void)state;
    struct rng r = {test_seed(20260731)};
    int good = 0;
    for (int64_t i = 0; i < test_scaled(200000); i++) {
        char text[256], again[256];
        struct descriptor d;
        struct descriptor_error error;
        random_text(&r, text, sizeof text);
        if (!descriptor_parse(text, &d, &error)) continue;
        good++;
        descriptor_format(&d, again, sizeof again);
        for (int a = 0; a < 3; a++) {
            const struct axis *x = &d.axis[a];
            if (x->p < 0 || x->pe < 0 || x->o < 1 ||
                (x->i + x->p + x->pe - (x->k - 1) * (x->d + 1) - 1) / x->s + 1 != x->o)
                fail_msg("%s: the sizes of axis %d do not fit", text, a);
        }
        expect_same(again, text);
    }
    assert_true(good > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mobilenet_layer_is_read),
        cmocka_unit_test(defaults_are_benchdnns),
        cmocka_unit_test(dilation_counts_from_zero),
        cmocka_unit_test(given_output_decides_the_end),
        cmocka_unit_test(axes_follow_each_other),
        cmocka_unit_test(mistakes_are_shown_where_they_are),
        cmocka_unit_test(largest_numbers_do_not_overflow),
        cmocka_unit_test(cut_off_text_stays_inside),
        cmocka_unit_test(writing_reads_back),
    };
    return cmocka_run_group_tests_name("descriptor", tests, NULL, NULL);
}
