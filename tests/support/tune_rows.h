/* Rows for the tests of tuning: rows that write a mark, count their runs, and take as long as they
 * say by a clock that only they and whoever reads it move; so nothing depends on real time.
 *
 * The clock ticks by TICK each time it is read, which is what built-in rows seem to take. Include
 * after cmocka.h. */
#ifndef TEST_TUNE_ROWS_H
#define TEST_TUNE_ROWS_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "convop/convop.h"
#include "src/common/alloc.h"
#include "src/operator/convolution/measure.h"
#include "tests/support/copying_conv.h"
#include "tests/support/expect.h"

#define TICK      10.0
#define MAX_SLOTS 4

static double fake_now;

static inline double read_fake_clock(void)
{
    return fake_now += TICK;
}

/* What a slot's row does: its functions have no other way to tell rows apart. */
static struct slot {
    double ms;   /* of a run */
    double more; /* that the first one takes */
    float mark;  /* what it fills the output with; 0: it computes */
    size_t workspace;
    convop_status status; /* of its runs, from the one after `good_runs` on */
    int good_runs, runs;
    double estimate, estimate_alone; /* on several threads, on one */
} slots[MAX_SLOTS];

/* A 1x1 convolution of compact NC* tensors of float32. */
static inline void compute_pointwise(const convop_conv_problem *p, const convop_conv_operands *t)
{
    const float *src = t->src, *weights = t->weights;
    float *out = t->out;
    const int64_t pixels = p->oh * p->ow;
    for (int64_t n = 0; n < p->mb; n++)
        for (int64_t o = 0; o < p->oc; o++)
            for (int64_t y = 0; y < pixels; y++) {
                float sum = 0;
                for (int64_t c = 0; c < p->ic; c++)
                    sum += src[(n * p->ic + c) * pixels + y] * weights[o * p->ic + c];
                out[(n * p->oc + o) * pixels + y] = sum;
            }
}

static inline convop_status run_slot(struct slot *s, const convop_conv_problem *p,
                                     const convop_conv_operands *t)
{
    if (s->runs++ >= s->good_runs && s->status != CONVOP_OK)
        return convop_fail(s->status, "slot: not this one");
    fake_now += s->ms - TICK + (s->runs == 1 ? s->more : 0);
    if (s->mark == 0)
        compute_pointwise(p, t);
    else
        for (int64_t i = 0; i < p->mb * p->oc * p->oh * p->ow; i++) ((float *)t->out)[i] = s->mark;
    return CONVOP_OK;
}

/* 1x1 kernels of 2-D images alone, so that it stays out of the way of all else. */
static inline int slot_takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE], size_t bytes)
{
    if (p->kh == 1 && p->kw == 1 && p->dense && p->dtype.bits == 32 && bytes <= p->workspace_limit)
        return 1;
    strcpy(why, "not for me");
    return 0;
}

#define SLOT(i)                                                                                    \
    static inline convop_status run_##i(const convop_conv_problem *p,                              \
                                        const convop_conv_operands *t,                             \
                                        const convop_context *context, void *workspace)            \
    {                                                                                              \
        (void)context, (void)workspace;                                                            \
        return run_slot(&slots[i], p, t);                                                          \
    }                                                                                              \
    static inline int takes_##i(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])           \
    {                                                                                              \
        return slot_takes(p, why, slots[i].workspace);                                             \
    }                                                                                              \
    static inline size_t workspace_##i(const convop_conv_problem *p)                               \
    {                                                                                              \
        return (void)p, slots[i].workspace;                                                        \
    }                                                                                              \
    static inline double estimate_##i(const convop_conv_problem *p)                                \
    {                                                                                              \
        return p->threads > 1 ? slots[i].estimate : slots[i].estimate_alone;                       \
    }
SLOT(0)
SLOT(1)
SLOT(2)
SLOT(3)
#undef SLOT

static convop_conv_impl slot_rows[MAX_SLOTS];

/* Registers a row for slot i. Level 20: what an estimate would choose; 5: what it would not. */
static inline void add_row(int i, const char *name, int level, double ms, float mark)
{
    static convop_status (*const runs[])(const convop_conv_problem *, const convop_conv_operands *,
                                         const convop_context *,
                                         void *) = {run_0, run_1, run_2, run_3};
    static int (*const takes[])(const convop_conv_problem *, char *) = {takes_0, takes_1, takes_2,
                                                                        takes_3};
    static size_t (*const bytes[])(const convop_conv_problem *) = {workspace_0, workspace_1,
                                                                   workspace_2, workspace_3};
    static double (*const estimates[])(const convop_conv_problem *) = {estimate_0, estimate_1,
                                                                       estimate_2, estimate_3};
    slots[i].ms = ms;
    slots[i].mark = mark;
    slot_rows[i] = (convop_conv_impl){.struct_size = sizeof(convop_conv_impl),
                                      .name = name,
                                      .direction = CONVOP_FWD,
                                      .version = 1,
                                      .level = level,
                                      .applicable = takes[i],
                                      .workspace = bytes[i],
                                      .run = runs[i],
                                      .estimate = estimates[i]};
    expect_ok(convop_conv_impl_register(&slot_rows[i]));
}

static inline int tune_set_up(void **state)
{
    (void)state;
    memset(slots, 0, sizeof slots);
    memset(slot_rows, 0, sizeof slot_rows);
    fake_now = 0;
    cvp_conv_measure_clock(read_fake_clock);
    return convop_set("cache_dir", "none") == CONVOP_OK &&
                   convop_tune_forget(NULL, NULL) == CONVOP_OK
               ? 0
               : -1;
}

static inline int tune_tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {"autotune",    "impl",          "tune_budget",
                                        "tune_verify", "verbose",       "tune_wait",
                                        "cache_dir",   "deterministic", "tune_batch_bucket"};
    for (int i = 0; i < MAX_SLOTS; i++)
        if (slot_rows[i].name) convop_conv_impl_unregister(&slot_rows[i], NULL, NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) convop_set(names[i], NULL);
    convop_set_log_sink(NULL, NULL);
    cvp_conv_measure_clock(NULL);
    return 0;
}

/* What a call's output begins with: whose row ran. 3 is what the problem's own result has there. */
static inline float answer_of(struct problem *x)
{
    memset(x->dst, 0, sizeof x->dst);
    expect_ok(forward(x));
    return x->dst[3];
}

/* How the row that a call would run was chosen; *row is that row. */
static inline convop_conv_choice choice_of(const struct problem *x, convop_conv_row *row)
{
    convop_conv_row rows[16];
    size_t n = 16;
    expect_ok(convop_conv_explain(&x->params, CONVOP_FWD, &x->s, &x->w, &x->d, NULL, rows, &n));
    for (size_t i = 0; i < n; i++) {
        if (!rows[i].chosen) continue;
        if (row) *row = rows[i];
        return (convop_conv_choice)rows[i].choice;
    }
    return CONVOP_CHOICE_NONE;
}

static inline int all_runs(void)
{
    int n = 0;
    for (int i = 0; i < MAX_SLOTS; i++) n += slots[i].runs;
    return n;
}

/* The only record of the cache, which stays there as long as the listing. */
static inline const convop_tune_record *only_record(convop_tune_listing **listing)
{
    expect_ok(convop_tune_list(NULL, listing));
    assert_int_equal(convop_tune_listing_count(*listing), 1);
    return convop_tune_listing_at(*listing, 0);
}

#endif
