/* Results for people: an aligned table. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/gpu.h"

static int problem_width = 7, index_width = 1, shown_progress;

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[] = {
        [PASSED] = "passed", [FAILED] = "failed", [SKIPPED] = "skipped", [TIMED] = "timed"};
    return names[outcome];
}

void report_label(const struct problem *p, char *text, size_t size)
{
    const struct descriptor *d = &p->descriptor;
    if (d->name_length)
        snprintf(text, size, "%.*s%s%s", d->name_length, d->name, p->swept[0] ? " " : "", p->swept);
    else
        snprintf(text, size, "%s", p->text);
    /* Control characters would break the table, or the terminal. */
    for (char *s = text; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?';
}

const char *report_type(const struct bench_case *c)
{
    return c->problem->settings.lacks ? "-" : type_name(c->type);
}

const char *report_tag(const struct bench_case *c)
{
    return c->problem->settings.lacks ? "-" : tag_name(c->tag);
}

void report_begin(const struct bench_arguments *a)
{
    const struct problem_list *list = &a->problems;
    if (a->json) return;
    for (size_t i = 0; i < list->count; i++) {
        char label[256];
        report_label(&list->at[i], label, sizeof label);
        if ((int)strlen(label) > problem_width) problem_width = (int)strlen(label);
    }
    if (a->device.device_type == kDLCUDA) printf("cuda:%d: %s\n", a->device.device_id, gpu_name());
    index_width = snprintf(NULL, 0, "%zu", list->count);
    printf("%*s  %-*s  %-6s %-4s %-4s  %-12s %10s %10s %9s %7s  CHECK\n", 2 * index_width + 1, "",
           problem_width, "PROBLEM", "DIR", "DT", "TAG", "ROW", "MS", "MEDIAN", "GFLOPS", "LIMIT");
    fflush(stdout);
}

/* Only where somebody watches a terminal, and on a line that the result overwrites. */
void report_progress(const struct bench_arguments *a, size_t index, const char *what)
{
    if (a->json || !isatty(STDERR_FILENO) || !isatty(STDOUT_FILENO)) return;
    char label[256];
    report_label(&a->problems.at[index], label, sizeof label);
    fprintf(stderr, "\r\033[K%*zu/%zu  %s: %s", index_width, index + 1, a->problems.count, label,
            what);
    shown_progress = 1;
}

static void clear_progress(void)
{
    if (shown_progress) fputs("\r\033[K", stderr);
    shown_progress = 0;
}

static void print_stages(const struct times *t)
{
    double sum = 0;
    for (int i = 0; i < CONVOP_STAGE_COUNT; i++) sum += t->stages[i].ms;
    printf("%*s  ", 2 * index_width + 1, "");
    for (int i = 0, shown = 0; i < CONVOP_STAGE_COUNT; i++) {
        const convop_stage_time *s = &t->stages[i];
        if (!s->count) continue;
        printf("%s%s %.4f ms (%.1f %%)", shown++ ? ", " : "", s->name, s->ms,
               sum > 0 ? 100 * s->ms / sum : 0);
    }
    putchar('\n');
}

static void print_row(const struct bench_arguments *a, size_t index, const struct bench_case *c,
                      const struct result *r)
{
    char label[256], ms[32] = "", median[32] = "", gflops[32] = "", limit[32] = "";
    const struct times *t = &r->times;
    report_label(c->problem, label, sizeof label);
    if (t->ms > 0) {
        snprintf(ms, sizeof ms, "%.4f", t->ms);
        snprintf(median, sizeof median, "%.4f", t->median_ms);
        snprintf(gflops, sizeof gflops, "%.2f", r->gflops);
        if (r->limit_ms > 0) snprintf(limit, sizeof limit, "%.1f %%", 100 * r->limit_ms / t->ms);
    }
    printf("%*zu/%zu  %-*s  %-6s %-4s %-4s  %-12s %10s %10s %9s %7s  %s\n", index_width, index + 1,
           a->problems.count, problem_width, label, direction_name(c->direction), report_type(c),
           report_tag(c), r->impl[0] ? r->impl : "-", ms, median, gflops, limit,
           r->outcome == FAILED ? "FAILED" : outcome_name(r->outcome));
    if (r->why[0]) printf("%*s  %s\n", 2 * index_width + 1, "", r->why);
    if (a->stages && t->ms > 0) print_stages(t);
    if (r->outcome == FAILED) {
        printf("%*s  repeat: ", 2 * index_width + 1, "");
        repeat_command(stdout, c, r);
    }
}

void report_result(const struct bench_arguments *a, size_t index, const struct bench_case *c,
                   const struct result *r)
{
    clear_progress();
    if (a->json)
        report_json(a, c, r);
    else
        print_row(a, index, c, r);
    fflush(stdout);
}

/* What of the batch files did not count: to people with the summary, to programs beside it. */
static void print_left_out(FILE *out, const struct problem_list *list)
{
    if (list->num_left_out) fputs("options left out: ", out);
    for (size_t i = 0; i < list->num_left_out; i++)
        fprintf(out, "%s%s (%d)", i ? ", " : "", list->left_out[i].option, list->left_out[i].count);
    if (list->num_left_out) fputc('\n', out);
    if (list->not_matched) fprintf(out, "descriptors that do not match: %zu\n", list->not_matched);
}

void report_end(const struct bench_arguments *a, const int tally[NUM_OUTCOMES])
{
    clear_progress();
    if (!a->json) {
        printf("%d passed, %d failed, %d skipped", tally[PASSED], tally[FAILED], tally[SKIPPED]);
        if (tally[TIMED]) printf(", %d timed only", tally[TIMED]);
        putchar('\n');
    }
    print_left_out(a->json ? stderr : stdout, &a->problems);
}
