/* Rows with a state of their own: begin, end and notes, on the CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/tune_rows.h"

#define OWN 192 /* bytes of workspace that the state says it needs */

enum { MARK = 9 };

static struct {
    int begun, ended, refusals; /* refusals: that are left */
    char notes[64];             /* that begin got last */
} seen;

static convop_status begin(const convop_conv_problem *p, const char *notes, void **state,
                           size_t *workspace_bytes)
{
    snprintf(seen.notes, sizeof seen.notes, "%s", notes);
    if (p->workspace_limit < OWN) return convop_fail(CONVOP_E_UNSUPPORTED, "stateful: too little");
    if (seen.refusals > 0) {
        seen.refusals--;
        return convop_fail(CONVOP_E_UNSUPPORTED, "stateful: not now");
    }
    *workspace_bytes = OWN;
    *state = &seen;
    seen.begun++;
    return CONVOP_OK;
}

static void end(void *state)
{
    assert_ptr_equal(state, &seen);
    seen.ended++;
}

static const char *notes(const void *state)
{
    assert_ptr_equal(state, &seen);
    return "the third way";
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *workspace)
{
    (void)context;
    assert_ptr_equal(t->state, &seen);
    fake_now += 1 - TICK;
    memset(workspace, 0, OWN);
    for (int64_t i = 0; i < p->mb * p->oc * p->oh * p->ow; i++)
        ((float *)t->out)[i] = MARK + ((const float *)t->src)[i];
    return CONVOP_OK;
}

static const convop_conv_impl row = {.struct_size = sizeof row,
                                     .name = "stateful",
                                     .direction = CONVOP_FWD,
                                     .version = 1,
                                     .level = 20,
                                     .applicable = takes_0,
                                     .run = run,
                                     .begin = begin,
                                     .end = end,
                                     .notes = notes};

static int set_up(void **state)
{
    memset(&seen, 0, sizeof seen);
    return tune_set_up(state) == 0 && convop_conv_impl_register(&row) == CONVOP_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    convop_trim();
    const int is_even = seen.begun > 0 && seen.begun == seen.ended;
    return convop_conv_impl_unregister(&row, NULL, NULL) == CONVOP_OK &&
                   tune_tear_down(state) == 0 && is_even
               ? 0
               : -1;
}

/* Every other element of a row of pixels: the row is given compact copies. */
static void its_workspace_lies_behind_the_copies(void **state)
{
    (void)state;
    struct problem x;
    float src[2 * IMAGE] = {0}, dst[2 * IMAGE] = {0};
    int64_t strides[] = {2 * IMAGE, 2 * SIDE * SIDE, 2 * SIDE, 2};
    make_problem(&x);
    for (int i = 0; i < IMAGE; i++) src[2 * i] = (float)i;
    x.s.data = src;
    x.d.data = dst;
    x.s.strides = x.d.strides = strides;
    convop_conv_row chosen;
    assert_int_equal(choice_of(&x, &chosen), CONVOP_CHOICE_ESTIMATED);
    assert_string_equal(chosen.name, "stateful");
    assert_true(chosen.workspace_bytes >= sizeof x.src + sizeof x.dst + OWN);
    expect_ok(forward(&x));
    for (int i = 0; i < IMAGE; i++)
        assert_true(dst[2 * i] == (float)(MARK + i) && dst[2 * i + 1] == 0);
    /* With the caller's, where it suffices; else another row runs. */
    convop_exec exec = CONVOP_EXEC_INIT;
    for (size_t bytes = 64; bytes < chosen.workspace_bytes + 128; bytes += 64) {
        exec.workspace = malloc(bytes);
        exec.workspace_bytes = bytes;
        expect_ok(convop_conv_forward(&x.params, &x.s, &x.w, NULL, &x.d, CONVOP_REQ_WRITE, &exec));
        assert_true(dst[2] == 1 || (dst[2] == MARK + 1 && bytes >= chosen.workspace_bytes));
        free(exec.workspace);
    }
    assert_true(dst[2] == MARK + 1);
}

/* By a call that may measure, or for its own sake. */
static void measure_it(struct problem *x, int by_call)
{
    if (by_call) {
        expect_ok(convop_set("autotune", "1"));
        assert_true(answer_of(x) == MARK + 3);
    } else {
        expect_ok(convop_conv_tune(&x->params, CONVOP_FWD, &x->s, &x->w, &x->d, NULL, NULL, NULL,
                                   &(size_t){0}));
    }
}

/* What is measured is kept with the state's notes, which the next one begins with. */
static void its_notes_are_kept(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    for (int by_call = 0; by_call < 2; by_call++) {
        convop_tune_listing *listing = NULL;
        expect_ok(convop_tune_forget(NULL, NULL));
        measure_it(&x, by_call);
        const convop_tune_record *r = only_record(&listing);
        assert_string_equal(r->impl, "stateful");
        assert_string_equal(r->plan, "the third way");
        convop_tune_listing_destroy(&listing);
        expect_ok(convop_set("autotune", NULL));
        seen.notes[0] = '\0';
        assert_true(answer_of(&x) == MARK + 3);
        assert_string_equal(seen.notes, "the third way");
    }
}

/* And where it refuses them, the estimate counts: the same row without notes, or another one. */
static void a_refusal_at_the_beginning_is_no_failure(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    for (int refusals = 1; refusals < 3; refusals++) {
        expect_ok(convop_set("autotune", "1"));
        expect_ok(convop_tune_forget(NULL, NULL));
        assert_true(answer_of(&x) == MARK + 3);
        expect_ok(convop_set("autotune", NULL));
        seen.refusals = refusals;
        assert_true(answer_of(&x) == (refusals == 1 ? MARK + 3 : 3));
        assert_int_equal(seen.refusals, 0);
        assert_string_equal(seen.notes, "");
        convop_conv_row chosen;
        assert_int_equal(choice_of(&x, &chosen), CONVOP_CHOICE_ESTIMATED);
        assert_true(chosen.ms == 0);
    }
}

/* A choice that was made without measuring is good until somebody measures. */
static void a_record_without_a_time_is_measured(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    for (int by_call = 0; by_call < 2; by_call++) {
        convop_tune_listing *listing = NULL;
        expect_ok(convop_tune_forget(NULL, NULL));
        expect_ok(convop_set("autotune", "1"));
        assert_true(answer_of(&x) == MARK + 3);
        const convop_tune_record *r = only_record(&listing);
        const struct cvp_tune_key key = {r->device, r->software, r->problem};
        const struct cvp_tune_choice untimed = {.impl = "reference", .impl_version = 1};
        expect_ok(cvp_tune_store(&key, &untimed));
        convop_tune_listing_destroy(&listing);
        expect_ok(convop_set("autotune", NULL));
        assert_int_equal(choice_of(&x, NULL), CONVOP_CHOICE_CACHED);
        assert_true(answer_of(&x) == 3);
        measure_it(&x, by_call);
        r = only_record(&listing);
        assert_string_equal(r->impl, "stateful");
        assert_true(r->ms == 1);
        convop_tune_listing_destroy(&listing);
    }
}

#define STATE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STATE_TEST(its_workspace_lies_behind_the_copies),
        STATE_TEST(its_notes_are_kept),
        STATE_TEST(a_refusal_at_the_beginning_is_no_failure),
        STATE_TEST(a_record_without_a_time_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
