/* convop bench: each problem, in each direction, type and layout, on the rows that were asked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/cli.h"

#define MAX_ROWS 64

struct bench {
    struct bench_arguments arguments;
    struct tally tally;
    int index; /* of the request that runs */
};

/* Settings of the process and the context that the next case runs with. */
static convop_status use_settings(const struct settings *s, convop_context **context)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    *context = NULL;
    const char *impl = s->impl && strcmp(s->impl, "all") == 0 ? NULL : s->impl;
    convop_status status = convop_set("impl", impl);
    if (status != CONVOP_OK || s->threads == 0) return status;
    options.num_threads = s->threads;
    return convop_context_create(&options, context);
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
    convop_status status = case_run(c);
    if (status != CONVOP_OK)
        refused(r, status);
    else
        r->outcome = case_check(c, r->why, sizeof r->why) == 1 ? PASSED : FAILED;
}

static void measure(struct bench *b, struct bench_case *c, struct result *r)
{
    report_progress(&b->arguments, b->index, "timing");
    case_fill_real(c);
    convop_status status = case_time(c, &r->ms);
    if (status != CONVOP_OK) {
        r->ms = 0;
        refused(r, status);
        return;
    }
    int threads = convop_context_num_threads(c->exec.context);
    double flops = case_flops(c);
    r->gflops = r->ms > 0 ? flops / r->ms * 1e-6 : 0;
    r->limit_ms = probe_limit_ms(c->type, threads > 0 ? threads : 1, flops, case_bytes(c), r->ms);
}

static void run_row(struct bench *b, struct bench_case *c, const char *name)
{
    struct result r = {.outcome = TIMED};
    snprintf(r.impl, sizeof r.impl, "%s", name);
    if (c->settings->mode & MODE_CHECK) check(b, c, &r);
    if (c->settings->mode & MODE_TIME && (r.outcome == PASSED || r.outcome == TIMED))
        measure(b, c, &r);
    switch (r.outcome) {
    case PASSED: b->tally.passed++; break;
    case FAILED: b->tally.failed++; break;
    case SKIPPED: b->tally.skipped++; break;
    case TIMED: b->tally.timed++; break;
    }
    report_result(&b->arguments, b->index, c, &r);
}

static void report_refusal(struct bench *b, struct bench_case *c, convop_status status,
                           const char *why)
{
    struct result r = {.outcome = status == CONVOP_E_UNSUPPORTED ? SKIPPED : FAILED};
    snprintf(r.why, sizeof r.why, "%s", why);
    if (r.outcome == SKIPPED)
        b->tally.skipped++;
    else
        b->tally.failed++;
    report_result(&b->arguments, b->index, c, &r);
}

/* Every row that applies, by its name. */
static void run_all_rows(struct bench *b, struct bench_case *c, const convop_conv_row *rows,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].applicable) continue;
        convop_status status = convop_set("impl", rows[i].name);
        if (status == CONVOP_OK)
            run_row(b, c, rows[i].name);
        else
            report_refusal(b, c, status, convop_last_error());
    }
    convop_set("impl", NULL);
}

static void run_case(struct bench *b, struct bench_case *c)
{
    static convop_conv_row rows[MAX_ROWS];
    size_t count = MAX_ROWS;
    int chosen;
    char why[256];
    convop_status status = case_create(c, why, sizeof why);
    if (status != CONVOP_OK) {
        report_refusal(b, c, status, why);
        return;
    }
    status = case_rows(c, rows, &count, &chosen);
    if (status != CONVOP_OK)
        report_refusal(b, c, status, convop_last_error());
    else if (c->settings->impl && strcmp(c->settings->impl, "all") == 0)
        run_all_rows(b, c, rows, count);
    else
        run_row(b, c, chosen < 0 ? "" : rows[chosen].name);
    case_destroy(c);
}

/* CLI_OK, or CLI_FAILURE if the output is gone and going on would be in vain. */
static int run_request(struct bench *b)
{
    const struct request *q = &b->arguments.requests[b->index];
    const struct settings *s = &q->settings;
    convop_context *context;
    if (use_settings(s, &context) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    struct bench_case c = {.problem = &q->problem, .settings = s};
    convop_exec exec = CONVOP_EXEC_INIT;
    exec.context = context;
    c.exec = exec;
    for (int i = 0; i < s->directions.count * s->types.count * s->tags.count; i++) {
        int rest = i / s->tags.count;
        c.tag = (enum tag)s->tags.at[i % s->tags.count];
        c.type = (enum type)s->types.at[rest % s->types.count];
        c.direction = (enum direction)s->directions.at[rest / s->types.count];
        run_case(b, &c);
        if (ferror(stdout)) break;
    }
    convop_context_destroy(&context);
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

int cli_bench(int argc, char **argv)
{
    struct bench b = {.index = 0};
    bench_parse(argc, argv, &b.arguments);
    if (!b.arguments.requests) return cli_fail("out of memory");
    int status = cli_check_settings();
    if (status == CLI_OK) report_begin(&b.arguments);
    for (; status == CLI_OK && b.index < b.arguments.count; b.index++) status = run_request(&b);
    if (status == CLI_OK) {
        report_end(&b.arguments, &b.tally);
        if (b.tally.failed || !(b.tally.passed || b.tally.timed)) status = CLI_FAILURE;
    }
    free(b.arguments.requests);
    return status;
}
