/* What a person or a program gets to see of the results: an aligned table, or JSON lines. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/json.h"

static int problem_width = 7, index_width = 1, shown_progress;

static const char *outcome_name(const struct result *r)
{
    static const char *const names[] = {
        [PASSED] = "passed", [FAILED] = "FAILED", [SKIPPED] = "skipped", [TIMED] = "-"};
    return names[r->outcome];
}

/* What stands in the first column: the name if it has one, else the descriptor. */
static void label_of(const struct request *q, char *text, size_t size)
{
    if (q->problem.name_length)
        snprintf(text, size, "%.*s", q->problem.name_length, q->problem.name);
    else
        snprintf(text, size, "%s", q->text);
    /* Control characters would break the table, or the terminal. */
    for (char *s = text; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?';
}

void report_begin(const struct bench_arguments *a)
{
    if (a->json) return;
    for (int i = 0; i < a->count; i++) {
        char label[256];
        label_of(&a->requests[i], label, sizeof label);
        if ((int)strlen(label) > problem_width) problem_width = (int)strlen(label);
    }
    index_width = snprintf(NULL, 0, "%d", a->count);
    printf("%*s  %-*s  %-6s %-3s %-4s  %-16s %10s %9s %7s  CHECK\n", 2 * index_width + 1, "",
           problem_width, "PROBLEM", "DIR", "DT", "TAG", "ROW", "MS", "GFLOPS", "LIMIT");
    fflush(stdout);
}

/* Only where somebody watches a terminal, and on a line that the result overwrites. */
void report_progress(const struct bench_arguments *a, int index, const char *what)
{
    if (a->json || !isatty(STDERR_FILENO) || !isatty(STDOUT_FILENO)) return;
    char label[256];
    label_of(&a->requests[index], label, sizeof label);
    fprintf(stderr, "\r\033[K%*d/%d  %s: %s", index_width, index + 1, a->count, label, what);
    shown_progress = 1;
}

static void clear_progress(void)
{
    if (shown_progress) fputs("\r\033[K", stderr);
    shown_progress = 0;
}

/* ---- the command that repeats it ----------------------------------------------------------- */

/* Quotes for a shell: ' becomes '\''. */
static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

static void repeat_command(FILE *out, const struct bench_case *c, const struct result *r)
{
    const struct settings *s = c->settings;
    char text[1024];
    fprintf(out, "convop bench --mode=%s --dir=%s --dt=%s --tag=%s",
            s->mode == MODE_CHECK  ? "C"
            : s->mode == MODE_TIME ? "P"
                                   : "CP",
            direction_name(c->direction), type_name(c->type), tag_name(c->tag));
    if (s->threads) fprintf(out, " --threads=%d", s->threads);
    /* A row that was chosen without being named is named, so that the same one runs. */
    const char *impl = r->impl[0] ? r->impl : s->impl;
    if (impl) {
        fputs(" --impl=", out);
        quote(out, impl);
    }
    fputc(' ', out);
    descriptor_format(c->problem, text, sizeof text);
    quote(out, text);
    fputc('\n', out);
}

/* ---- a result ------------------------------------------------------------------------------ */

static void print_row(const struct bench_arguments *a, int index, const struct bench_case *c,
                      const struct result *r)
{
    char label[256], ms[32] = "", gflops[32] = "", limit[32] = "";
    label_of(&a->requests[index], label, sizeof label);
    if (r->ms > 0) {
        snprintf(ms, sizeof ms, "%.4f", r->ms);
        snprintf(gflops, sizeof gflops, "%.2f", r->gflops);
        if (r->limit_ms > 0) snprintf(limit, sizeof limit, "%.1f %%", 100 * r->limit_ms / r->ms);
    }
    printf("%*d/%d  %-*s  %-6s %-3s %-4s  %-16s %10s %9s %7s  %s\n", index_width, index + 1,
           a->count, problem_width, label, direction_name(c->direction), type_name(c->type),
           tag_name(c->tag), r->impl[0] ? r->impl : "-", ms, gflops, limit, outcome_name(r));
    if (r->why[0]) printf("%*s  %s\n", 2 * index_width + 1, "", r->why);
    if (r->outcome == FAILED) {
        printf("%*s  repeat: ", 2 * index_width + 1, "");
        repeat_command(stdout, c, r);
    }
}

/* A number that was measured, or null. */
static void measured(const char *key, double value)
{
    json_key(key, 0);
    if (value > 0)
        printf("%.6g", value);
    else
        fputs("null", stdout);
}

static void text_member(const char *key, const char *text)
{
    json_key(key, 0);
    json_string(text);
}

static void print_json(const struct bench_arguments *a, int index, const struct bench_case *c,
                       const struct result *r)
{
    const struct request *q = &a->requests[index];
    char text[1024];
    if (q->problem.name_length)
        snprintf(text, sizeof text, "%.*s", q->problem.name_length, q->problem.name);
    else
        snprintf(text, sizeof text, "%s", q->text);
    putchar('{');
    json_key("name", 1);
    json_string(text);
    descriptor_format(c->problem, text, sizeof text);
    text_member("problem", text);
    text_member("dir", direction_name(c->direction));
    text_member("dt", type_name(c->type));
    text_member("tag", tag_name(c->tag));
    text_member("impl", r->impl[0] ? r->impl : NULL);
    measured("ms", r->ms);
    measured("gflops", r->gflops);
    measured("limit_ms", r->limit_ms);
    json_key("ok", 0);
    fputs(r->outcome == PASSED ? "true" : r->outcome == FAILED ? "false" : "null", stdout);
    if (r->why[0]) text_member("why", r->why);
    puts("}");
    if (r->outcome != FAILED) return;
    fputs("convop: repeat: ", stderr);
    repeat_command(stderr, c, r);
}

void report_result(const struct bench_arguments *a, int index, const struct bench_case *c,
                   const struct result *r)
{
    clear_progress();
    if (a->json)
        print_json(a, index, c, r);
    else
        print_row(a, index, c, r);
    fflush(stdout);
}

void report_end(const struct bench_arguments *a, const struct tally *t)
{
    clear_progress();
    if (a->json) return;
    printf("%d passed, %d failed, %d skipped", t->passed, t->failed, t->skipped);
    if (t->timed) printf(", %d timed only", t->timed);
    putchar('\n');
}
