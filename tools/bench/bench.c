/* convop bench: each problem, in each direction, type and layout, on the rows that were asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/gpu.h"
#include "tools/cli.h"

#define MAX_ROWS 64

struct bench {
    struct bench_arguments arguments;
    int tally[NUM_OUTCOMES];
    size_t index; /* of the problem that runs */
};

/* 1: rows by name in turn, all of them or those of a list; 0: the one that a call runs. */
static int runs_rows(const struct settings *s)
{
    return s->impl && (strcmp(s->impl, "all") == 0 || strchr(s->impl, ','));
}

/* 1 if the list, or "all", has the name. */
static int names_row(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (strcmp(list, "all") == 0) return 1;
    for (; *list; list += *list == ',') {
        size_t word = strcspn(list, ",");
        if (word == length && memcmp(list, name, length) == 0) return 1;
        list += word;
    }
    return 0;
}

/* Settings of the process and the context that the next case runs with. */
static convop_status use_settings(const struct settings *s, convop_context **context)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    *context = NULL;
    convop_status status = convop_set("impl", runs_rows(s) ? NULL : s->impl);
    if (status != CONVOP_OK || s->threads == 0) return status;
    options.num_threads = s->threads;
    return convop_context_create(&options, context);
}

static void report(struct bench *b, const struct bench_case *c, const struct result *r)
{
    b->tally[r->outcome]++;
    report_result(&b->arguments, b->index, c, r);
}

/* What a status of the library means for the result. A problem that no row computes is no failure
 * of theirs. */
static void refused(struct result *r, convop_status status)
{
    r->outcome = status == CONVOP_E_UNSUPPORTED ? SKIPPED : FAILED;
    snprintf(r->why, sizeof r->why, "%s", convop_last_error());
}

static void check(struct bench *b, struct bench_case *c, struct result *r)
{
    report_progress(&b->arguments, b->index, "checking");
    case_fill_exact(c);
    convop_status status = case_send(c);
    if (status == CONVOP_OK) status = case_prepare(c);
    if (status == CONVOP_OK) status = case_run(c);
    if (status == CONVOP_OK) status = case_fetch(c);
    if (status != CONVOP_OK)
        refused(r, status);
    else
        r->outcome = case_check(c, r->why, sizeof r->why) == 1 ? PASSED : FAILED;
}

static void measure(struct bench *b, struct bench_case *c, struct result *r)
{
    report_progress(&b->arguments, b->index, "timing");
    case_fill_real(c);
    convop_status status = case_send(c);
    if (status == CONVOP_OK) status = case_prepare(c);
    if (status == CONVOP_OK) status = case_time(c, b->arguments.stages, &r->times);
    if (status != CONVOP_OK) {
        r->times.ms = 0;
        refused(r, status);
        return;
    }
    double flops = case_flops(c), ms = r->times.ms;
    r->gflops = ms > 0 ? flops / ms * 1e-6 : 0;
    r->limit_ms = case_is_on_gpu(c) ? copy_limit_ms(case_bytes(c))
                                    : probe_limit_ms(c->type, r->threads, flops, case_bytes(c), ms);
}

static void run_row(struct bench *b, struct bench_case *c, const char *name, int choice)
{
    struct result r = {.outcome = TIMED, .choice = choice};
    int threads = convop_context_num_threads(c->exec.context);
    if (!case_is_on_gpu(c)) r.threads = threads > 0 ? threads : 1;
    snprintf(r.impl, sizeof r.impl, "%s", name);
    unsigned mode = c->problem->settings.mode;
    if (mode & MODE_CHECK) check(b, c, &r);
    if (mode & MODE_TIME && (r.outcome == PASSED || r.outcome == TIMED)) measure(b, c, &r);
    report(b, c, &r);
}

static void report_refusal(struct bench *b, struct bench_case *c, convop_status status,
                           const char *impl, const char *why)
{
    struct result r = {.outcome = status == CONVOP_E_UNSUPPORTED ? SKIPPED : FAILED};
    snprintf(r.impl, sizeof r.impl, "%s", impl);
    snprintf(r.why, sizeof r.why, "%s", why);
    report(b, c, &r);
}

/* Rows by their names; of those that do not take the problem, why not. */
static void run_rows(struct bench *b, struct bench_case *c, const convop_conv_row *rows,
                     size_t count)
{
    int named = 0;
    for (size_t i = 0; i < count; i++) {
        const convop_conv_row *row = &rows[i];
        if (!names_row(c->problem->settings.impl, row->name)) continue;
        named++;
        if (!row->applicable) {
            report_refusal(b, c, CONVOP_E_UNSUPPORTED, row->name, row->why_not);
            continue;
        }
        c->error_bound = row->error_bound;
        convop_status status = convop_set("impl", row->name);
        if (status == CONVOP_OK)
            run_row(b, c, row->name, CONVOP_CHOICE_FORCED);
        else
            report_refusal(b, c, status, row->name, convop_last_error());
    }
    convop_set("impl", NULL);
    if (!named)
        report_refusal(b, c, CONVOP_E_INVALID, "", "the direction has no row of these names");
}

/* The largest of the rows that may run: weights that are packed before may have another row than
 * those of a call, for which `chosen` is. */
static double largest_bound(const struct bench_case *c, const convop_conv_row *rows, size_t count,
                            int chosen)
{
    double most = chosen < 0 ? 0 : rows[chosen].error_bound;
    for (size_t i = 0; i < count && c->problem->settings.prepared; i++)
        if (rows[i].applicable && rows[i].error_bound > most) most = rows[i].error_bound;
    return most;
}

static void run_case(struct bench *b, struct bench_case *c)
{
    static convop_conv_row rows[MAX_ROWS];
    const struct settings *s = &c->problem->settings;
    size_t count = MAX_ROWS;
    int chosen;
    char why[256];
    if (s->prepared && library_direction(c->direction) != CONVOP_FWD) {
        report_refusal(b, c, CONVOP_E_UNSUPPORTED, "", "only the forward directions are prepared");
        return;
    }
    if (post_ops_name(&s->post_ops)[0] && library_direction(c->direction) != CONVOP_FWD) {
        report_refusal(b, c, CONVOP_E_UNSUPPORTED, "",
                       "what follows a convolution is forward only");
        return;
    }
    convop_status status = case_create(c, why, sizeof why);
    if (status != CONVOP_OK) {
        report_refusal(b, c, status, "", why);
        return;
    }
    status = case_rows(c, rows, &count, &chosen);
    if (status != CONVOP_OK)
        report_refusal(b, c, status, "", convop_last_error());
    else if (runs_rows(s))
        run_rows(b, c, rows, count);
    else {
        c->error_bound = largest_bound(c, rows, count, chosen);
        run_row(b, c, chosen < 0 ? "" : rows[chosen].name, chosen < 0 ? 0 : rows[chosen].choice);
    }
    case_destroy(c);
}

/* CLI_OK, or CLI_FAILURE if the output is gone and going on would be in vain. */
static int run_problem(struct bench *b)
{
    const struct problem *p = &b->arguments.problems.at[b->index];
    const struct settings *s = &p->settings;
    convop_context *context;
    if (use_settings(s, &context) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    struct bench_case c = {.problem = p, .device = b->arguments.device};
    convop_exec exec = CONVOP_EXEC_INIT;
    exec.context = context;
    c.exec = exec;
    if (s->lacks) report_refusal(b, &c, CONVOP_E_UNSUPPORTED, "", s->lacks);
    int cases = s->lacks ? 0 : s->directions.count * s->types.count * s->tags.count;
    for (int i = 0; i < cases && !ferror(stdout); i++) {
        int rest = i / s->tags.count;
        c.tag = (enum tag)s->tags.at[i % s->tags.count];
        c.type = (enum type)s->types.at[rest % s->types.count];
        c.direction = (enum direction)s->directions.at[rest / s->types.count];
        run_case(b, &c);
    }
    convop_context_destroy(&context);
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

/* A GPU that is asked for and not here ends the command. */
static int open_device(DLDevice device)
{
    if (device.device_type != kDLCUDA || gpu_open(device.device_id) == CONVOP_OK) return CLI_OK;
    return cli_fail("--device=cuda:%d: %s", device.device_id, convop_last_error());
}

int cli_bench(int argc, char **argv)
{
    struct bench b = {.index = 0};
    bench_parse(argc, argv, &b.arguments);
    int status = cli_check_settings();
    if (status == CLI_OK) status = open_device(b.arguments.device);
    if (status == CLI_OK) report_begin(&b.arguments);
    for (; status == CLI_OK && b.index < b.arguments.problems.count; b.index++)
        status = run_problem(&b);
    if (status == CLI_OK) {
        report_end(&b.arguments, b.tally);
        if (b.tally[FAILED] || !(b.tally[PASSED] || b.tally[TIMED])) status = CLI_FAILURE;
    }
    gpu_close();
    problems_free(&b.arguments.problems);
    return status;
}
