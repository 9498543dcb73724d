/* convop tune: measures the rows of each problem and keeps the winners in the tuning cache. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/settings.h"
#include "tools/cli.h"
#include "tools/tune/tune.h"

enum { KEY_BUDGET = 512, KEY_AGAIN, KEY_FASTEST, KEY_JSON };

static const struct argp_option options[] = {
    {"budget", KEY_BUDGET, "MS", 0, "Measure a problem for so many milliseconds; default 1000", 0},
    {"again", KEY_AGAIN, NULL, 0, "Measure what the cache knows already, too", 0},
    {"fastest", KEY_FASTEST, NULL, 0,
     "Without the parameter's limit of workspace, as cudnn_tune=fastest does", 0},
    {"json", KEY_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

struct tuning {
    struct problem_list problems;
    convop_tune_options options;
    int json;
    struct tune_report report;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tuning *t = state->input;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &t->problems; return 0;
    case KEY_BUDGET:
        errno = 0;
        t->options.budget_ms = (double)strtol(arg, &end, 10);
        if (end == arg || *end || errno || !(t->options.budget_ms >= 1) ||
            t->options.budget_ms > 3600000)
            argp_error(state, "--budget=%s: allowed are 1 to 3600000", arg);
        return 0;
    case KEY_AGAIN: t->options.again = 1; return 0;
    case KEY_FASTEST: t->options.fastest = 1; return 0;
    case KEY_JSON: t->json = 1; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&problems_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .help_filter = problems_help_filter,
    .args_doc = "[DESCRIPTOR...]",
    .doc = "Measures the implementations of convolutions and keeps the fastest of each problem in "
           "the tuning cache, where later runs find it.\v"
           "Examples:\n"
           "  convop tune --dir=FWD_D,BWD_D,BWD_W --batch=shapes_resnet_50\n"
           "  convop tune --again --budget=5000 g32mb1ic32ih112oc32kh3ph1\n"
           "  CONVOP_CACHE_DIR=$PWD/tuned convop tune --threads=4 --batch=net\n\n"
           "A gain is the time of the row that would run without tuning, by the winner's. "
           "Exit status: 1 if a problem fails, none could run or nothing can be kept, 2 for wrong "
           "usage.",
};

/* The row that would run without the cache: "autotune" is 0. */
static convop_status find_estimate(struct tune_case *c, struct tune_result *result)
{
    convop_conv_row rows[TUNE_MAX_ROWS];
    size_t count = TUNE_MAX_ROWS;
    convop_status status =
        convop_conv_explain(&c->query.params, library_direction(c->direction), &c->query.src,
                            &c->query.weights, &c->query.dst, &c->exec, rows, &count);
    const convop_conv_row *chosen = status == CONVOP_OK ? tune_chosen(rows, &count) : NULL;
    if (chosen) snprintf(result->estimate, sizeof result->estimate, "%s", chosen->name);
    return status;
}

static convop_status find_winner(const struct tuning *t, struct tune_case *c,
                                 struct tune_result *result)
{
    convop_conv_row rows[TUNE_MAX_ROWS];
    size_t count = TUNE_MAX_ROWS;
    convop_status status =
        convop_conv_tune(&c->query.params, library_direction(c->direction), &c->query.src,
                         &c->query.weights, &c->query.dst, &c->exec, &t->options, rows, &count);
    if (status != CONVOP_OK) return status;
    const convop_conv_row *chosen = tune_chosen(rows, &count);
    result->outcome = TUNE_SKIPPED;
    if (!chosen) {
        snprintf(result->why, sizeof result->why, "no row computes it");
        return CONVOP_OK;
    }
    result->outcome = chosen->choice == CONVOP_CHOICE_CACHED ? TUNE_KNOWN : TUNE_MEASURED;
    snprintf(result->winner, sizeof result->winner, "%s", chosen->name);
    result->ms = chosen->ms;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, result->estimate) == 0) result->estimate_ms = rows[i].ms;
    /* The disk may be full by now: the library goes on with its memory, which ends with us. */
    char why[200];
    convop_tune_path(NULL, 0, why, sizeof why);
    if (result->outcome == TUNE_MEASURED && why[0]) {
        result->outcome = TUNE_FAILED;
        snprintf(result->why, sizeof result->why, "measured, but not kept: %s", why);
    }
    return CONVOP_OK;
}

static int visit(struct tune_case *c, void *user)
{
    struct tuning *t = user;
    struct tune_result result = {.outcome = TUNE_SKIPPED};
    tune_report_progress(&t->report, c);
    if (c->problem->settings.lacks) {
        snprintf(result.why, sizeof result.why, "%s", c->problem->settings.lacks);
    } else {
        if (t->options.fastest) c->query.params.workspace_bytes = SIZE_MAX;
        convop_status status = find_estimate(c, &result);
        if (status == CONVOP_OK) status = find_winner(t, c, &result);
        if (status != CONVOP_OK) {
            result.outcome = status == CONVOP_E_UNSUPPORTED ? TUNE_SKIPPED : TUNE_FAILED;
            snprintf(result.why, sizeof result.why, "%s", convop_last_error());
        }
    }
    if (!tune_report_add(&t->report, c, &result)) return cli_fail("out of memory");
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

static int run(struct tuning *t)
{
    char path[4096];
    if (cli_check_settings() != CLI_OK || tune_find_file(path, sizeof path) != CLI_OK)
        return CLI_FAILURE;
    /* What is measured does not depend on them; what would run without tuning does. */
    if (convop_set("autotune", "0") != CONVOP_OK || convop_set("impl", "") != CONVOP_OK)
        return cli_fail("%s", convop_last_error());
    tune_report_begin(&t->report, t->json, tune_count_cases(&t->problems));
    int status = tune_each_case(&t->problems, visit, t);
    tune_report_end(&t->report, path);
    size_t good =
        tune_report_count(&t->report, TUNE_MEASURED) + tune_report_count(&t->report, TUNE_KNOWN);
    if (!good || tune_report_count(&t->report, TUNE_FAILED)) status = CLI_FAILURE;
    return status;
}

int cli_tune(int argc, char **argv)
{
    const convop_tune_options defaults = CONVOP_TUNE_OPTIONS_INIT;
    struct tuning t = {.options = defaults};
    problems_init(&t.problems);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &t);
    int status = run(&t);
    free(t.report.results);
    problems_free(&t.problems);
    return status;
}
