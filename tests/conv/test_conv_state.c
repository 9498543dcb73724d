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

#define STATE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STATE_TEST(its_workspace_lies_behind_the_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
