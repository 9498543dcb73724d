/* The winner of one process in the next ones, by the file of the tuning cache: each step in a child
 * of its own. Argument real: planned by the cuDNN of the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "convop/convop.h"
#include "tests/standin/set_up.h"
#include "tests/support/child_check.h"
#include "tests/support/tune.h"

static int count;
static char **arguments;

/* ---- a step ---------------------------------------------------------------------------------- */

struct step {
    struct conv_case c;
    struct conv_expected e;
    struct on_gpu g;
    long heuristics, measurings; /* of the calls */
};

/* Forward and backward on the first GPU, with rows that compete. 0 if all is right. */
static int run(struct step *s)
{
    const struct standin *standin = set_up.gpu.standin;
    plain_make(&s->c, &s->e, 1);
    s->c.params.cudnn_tune = CONVOP_TUNE_LIMITED_WORKSPACE;
    s->c.requests[2] = CONVOP_REQ_NULL;
    set_up_enter(set_up.contexts[0]);
    on_gpu_put(&s->g, &set_up.gpu, &s->c, 0);
    const long heuristics = standin->calls("heuristics"),
               measurings = standin->calls("cuEventElapsedTime");
    CHECK(placed_forward(&s->g.placed, NULL) == CONVOP_OK);
    CHECK(placed_backward(&s->g.placed, NULL) == CONVOP_OK);
    s->heuristics = standin->calls("heuristics") - heuristics;
    s->measurings = standin->calls("cuEventElapsedTime") - measurings;
    CHECK(on_gpu_is_right(&s->g, &s->e));
    on_gpu_free(&s->g);
    set_up_leave();
    return 0;
}

static int begin(void)
{
    const int code = set_up_begin(count, arguments);
    if (code) return code;
    MUST(convop_set("impl", ""));
    /* The engine that cuDNN names first is not the fastest. */
    set_up.gpu.standin->engine_takes(0, 9);
    return 0;
}

static int end(struct step *s)
{
    conv_expected_free(&s->e);
    conv_case_destroy(&s->c);
    return set_up_end(0);
}

/* All records, to be ended. */
static convop_tune_listing *records(void)
{
    convop_tune_listing *listing = NULL;
    MUST(convop_tune_list(NULL, &listing));
    return listing;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int measures(void *unused)
{
    struct step s;
    (void)unused;
    const int code = begin();
    if (code) return code;
    CHECK(run(&s) == 0);
    CHECK(s.heuristics > 0 && s.measurings > 0);
    convop_tune_listing *listing = records();
    CHECK(convop_tune_listing_count(listing) == 3);
    for (size_t i = 0; i < 3; i++) {
        const convop_tune_record *r = convop_tune_listing_at(listing, i);
        CHECK(strcmp(r->impl, "cudnn") == 0 && r->ms > 0);
        CHECK(strstr(r->device, "gpu=NVIDIA H200;cc=9.0;sm=132") == r->device);
        CHECK(strstr(r->plan, "engineId") || strstr(r->plan, "engine"));
    }
    convop_tune_listing_destroy(&listing);
    return end(&s);
}

/* The plan that runs is the one that was kept. */
static int restores(void *unused)
{
    struct step s;
    (void)unused;
    const int code = begin();
    if (code) return code;
    convop_tune_listing *listing = records();
    CHECK(convop_tune_listing_count(listing) == 3);
    CHECK(run(&s) == 0);
    CHECK(s.heuristics == 0 && s.measurings == 0);
    convop_tune_listing *after = records();
    CHECK(convop_tune_listing_count(after) == 3);
    for (size_t i = 0; i < 3; i++) {
        const convop_tune_record *r = convop_tune_listing_at(listing, i),
                                 *same = convop_tune_listing_at(after, i);
        CHECK(strcmp(r->plan, same->plan) == 0 && r->when == same->when);
    }
    convop_tune_listing_destroy(&listing);
    convop_tune_listing_destroy(&after);
    return end(&s);
}

/* Records of this GPU are no foreign ones; here is another one's. */
static int knows_its_own(void *unused)
{
    (void)unused;
    convop_tune_filter foreign = CONVOP_TUNE_FILTER_INIT;
    size_t n = 0;
    const int code = begin();
    if (code) return code;
    convop_tune_listing *listing = records();
    const convop_tune_record *r = convop_tune_listing_at(listing, 0);
    const struct cvp_tune_key key = {"gpu=Other;cc=9.0;sm=132", r->software, r->problem};
    const struct cvp_tune_choice measured = {.impl = "cudnn", .impl_version = 1, .ms = 1};
    CHECK(cvp_tune_store(&key, &measured) == CONVOP_OK);
    convop_tune_listing_destroy(&listing);
    foreign.foreign = 1;
    CHECK(convop_tune_forget(&foreign, &n) == CONVOP_OK && n == 1);
    CHECK(tune_count() == 3);
    return set_up_end(0);
}

/* Plans that cuDNN does not take any more are chosen anew. */
static int chooses_again(void *plan)
{
    struct step s;
    const int code = begin();
    if (code) return code;
    convop_tune_listing *listing = records();
    for (size_t i = 0; i < convop_tune_listing_count(listing); i++) {
        const convop_tune_record *r = convop_tune_listing_at(listing, i);
        const struct cvp_tune_key key = {r->device, r->software, r->problem};
        struct cvp_tune_choice choice = {
            .impl = "cudnn", .impl_version = r->impl_version, .ms = 1, .plan = plan};
        CHECK(cvp_tune_store(&key, &choice) == CONVOP_OK);
    }
    convop_tune_listing_destroy(&listing);
    CHECK(run(&s) == 0);
    CHECK(s.heuristics > 0 && s.measurings > 0);
    return end(&s);
}

static void the_next_process_runs_the_winner_without_heuristics(void **state)
{
    (void)state;
    run_child(measures, NULL);
    run_child(restores, NULL);
    run_child(knows_its_own, NULL);
    run_child(restores, NULL);
}

static void a_plan_that_no_longer_loads_is_chosen_again(void **state)
{
    (void)state;
    static char nonsense[] = "{\"engineId\":77}";
    run_child(measures, NULL);
    run_child(chooses_again, nonsense);
    run_child(restores, NULL);
}

int main(int argc, char **argv)
{
    count = argc;
    arguments = argv;
    (void)standin_open(); /* before settings are read */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_next_process_runs_the_winner_without_heuristics,
                                        tune_setup, tune_teardown),
        cmocka_unit_test_setup_teardown(a_plan_that_no_longer_loads_is_chosen_again, tune_setup,
                                        tune_teardown),
    };
    return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
