/* Random series of calls, most of which take the plan of an earlier one, against the same calls
 * made when no plan is there: the same status and sentence, the same bits, nothing else written.
 *
 *     CONVOP_SEED=<seed> test_conv_memo     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../support/conv_case.h"
#include "convop/convop.h"
#include "src/operator/memo.h"

enum { CASES = 24, WAYS = 8, SETTINGS = 2 };

/* What a call left, in one of the settings. */
struct outcome {
    convop_status status;
    char text[512];
    unsigned char *memory[4];
};

struct subject {
    struct conv_case c;
    unsigned char *before[4]; /* of the outputs: each call begins with these */
    struct outcome outcome[SETTINGS][WAYS];
};

static struct box *output(struct subject *s, int i)
{
    return conv_case_output(&s->c, i);
}

static convop_status forward(const struct conv_case *c, const DLTensor *src, DLTensor *dst)
{
    return conv_forward(&c->params, src, &c->weights.tensor,
                        c->params.no_bias ? NULL : &c->bias.tensor, dst, c->request, NULL);
}

static convop_status backward(struct conv_case *c, DLTensor *diff_src)
{
    return conv_backward(&c->params, &c->diff_dst.tensor, &c->src.tensor, &c->weights.tensor,
                         diff_src, &c->diff_weights.tensor,
                         c->params.no_bias ? NULL : &c->diff_bias.tensor, c->requests, NULL);
}

/* The ways: good calls most of the time, else one that differs from a good one in an address, a
 * shape or a parameter alone. */
static convop_status call(struct conv_case *c, int way)
{
    DLTensor src = c->src.tensor, dst = c->dst.tensor, diff_src = c->diff_src.tensor;
    int64_t shape[CONVOP_MAX_DIMS];
    struct conv_case changed = *c;
    switch (way) {
    case 0: return forward(c, &src, &dst);
    case 1: return backward(c, &diff_src);
    case 2: dst.data = NULL; return forward(c, &src, &dst);
    case 3: src.byte_offset += 1; return forward(c, &src, &dst);
    case 4: dst.data = src.data, dst.byte_offset = src.byte_offset; return forward(c, &src, &dst);
    case 5: diff_src.data = c->weights.tensor.data; return backward(c, &diff_src);
    case 6:
        memcpy(shape, src.shape, sizeof *shape * (size_t)src.ndim);
        shape[0] += 1;
        src.shape = shape;
        return forward(c, &src, &dst);
    default: changed.params.num_group += 1; return forward(&changed, &src, &dst);
    }
}

static void set(int setting)
{
    assert_int_equal(convop_set("isa", setting ? "baseline" : NULL), CONVOP_OK);
}

static void create(struct subject *s, uint64_t seed)
{
    conv_case_create(&s->c, seed);
    for (int i = 0; i < 4; i++) s->before[i] = box_snapshot(output(s, i));
    for (int setting = 0; setting < SETTINGS; setting++) {
        set(setting);
        for (int way = 0; way < WAYS; way++) {
            struct outcome *o = &s->outcome[setting][way];
            for (int i = 0; i < 4; i++)
                memcpy(output(s, i)->memory, s->before[i], output(s, i)->bytes);
            cvp_memo_purge();
            o->status = call(&s->c, way);
            snprintf(o->text, sizeof o->text, "%s", o->status ? convop_last_error() : "");
            for (int i = 0; i < 4; i++) o->memory[i] = box_snapshot(output(s, i));
        }
    }
}

static void destroy(struct subject *s)
{
    for (int setting = 0; setting < SETTINGS; setting++)
        for (int way = 0; way < WAYS; way++)
            for (int i = 0; i < 4; i++) free(s->outcome[setting][way].memory[i]);
    for (int i = 0; i < 4; i++) free(s->before[i]);
    conv_case_destroy(&s->c);
}

/* 0 and a printed reason if the call does not do what it did before. */
static int repeats(struct subject *s, int setting, int way)
{
    const struct outcome *o = &s->outcome[setting][way];
    for (int i = 0; i < 4; i++) memcpy(output(s, i)->memory, s->before[i], output(s, i)->bytes);
    convop_status status = call(&s->c, way);
    int good = status == o->status && (!status || strcmp(convop_last_error(), o->text) == 0);
    if (!good)
        printf("status %d, before %d: %s\nbefore: %s\n", (int)status, (int)o->status,
               convop_last_error(), o->text);
    for (int i = 0; i < 4; i++)
        if (memcmp(output(s, i)->memory, o->memory[i], output(s, i)->bytes) != 0)
            good = 0, printf("output %d differs\n", i);
    if (good) return 1;
    printf("way %d, setting %d: ", way, setting);
    conv_case_print(&s->c);
    return 0;
}

static void a_series_repeats_single_calls(void **state)
{
    (void)state;
    static struct subject subjects[CASES];
    const uint64_t seed = test_seed(20);
    struct rng r = {seed};
    int64_t calls = test_scaled(8000), good = 1;
    for (int i = 0; i < CASES; i++) create(&subjects[i], rng_next(&r));
    int setting = 0;
    set(setting);
    uint64_t hits = cvp_memo_counts().hits;
    for (int64_t i = 0; i < calls && good; i++) {
        if (rng_chance(&r, 1)) set(setting = (int)rng_int(&r, 0, SETTINGS - 1));
        if (rng_chance(&r, 1)) cvp_memo_purge();
        int way = (int)(rng_chance(&r, 70) ? rng_int(&r, 0, 1) : rng_int(&r, 2, WAYS - 1));
        good = repeats(&subjects[rng_int(&r, 0, CASES - 1)], setting, way);
    }
    if (!good) printf("CONVOP_SEED=%llu test_conv_memo\n", (unsigned long long)seed);
    assert_true(good);
    hits = cvp_memo_counts().hits - hits;
    printf("%lld calls, %llu of them with an earlier plan\n", (long long)calls,
           (unsigned long long)hits);
    assert_true(hits > (uint64_t)calls / 8);
    for (int i = 0; i < CASES; i++) destroy(&subjects[i]);
    set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_series_repeats_single_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
