/* What `convop tune` shows: where it is, and in the end who won by how much. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/tune/tune.h"

/* Seconds between two lines of progress where no terminal overwrites them. */
#define PAUSE 10

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tune_report_begin(struct tune_report *r, int json, size_t cases)
{
    *r = (struct tune_report){.json = json, .cases = cases, .began = seconds()};
    r->told = r->began;
}

void tune_report_progress(struct tune_report *r, const struct tune_case *c)
{
    char label[128];
    tune_label(c, label, sizeof label);
    const char *direction = c->problem->settings.lacks ? "" : direction_name(c->direction);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%zu/%zu  %s %s", r->count + 1, r->cases, label, direction);
        r->shown = 1;
        return;
    }
    double now = seconds();
    if (now - r->told < PAUSE) return;
    r->told = now;
    fprintf(stderr, "convop tune: %zu of %zu done after %.0f s; next is %s %s\n", r->count,
            r->cases, now - r->began, label, direction);
}

static const char *outcome_name(enum tune_outcome outcome)
{
    static const char *const names[] = {[TUNE_MEASURED] = "measured",
                                        [TUNE_KNOWN] = "known",
                                        [TUNE_SKIPPED] = "skipped",
                                        [TUNE_FAILED] = "failed"};
    return names[outcome];
}

static void print_json(const struct tune_case *c, const struct tune_result *result)
{
    tune_json_begin(c);
    tune_json_text("outcome", outcome_name(result->outcome));
    tune_json_text("impl", result->winner[0] ? result->winner : NULL);
    tune_json_time("ms", result->ms);
    tune_json_text("estimate", result->estimate[0] ? result->estimate : NULL);
    tune_json_time("estimate_ms", result->estimate_ms);
    if (result->why[0]) tune_json_text("why", result->why);
    puts("}");
    fflush(stdout);
}

int tune_report_add(struct tune_report *r, const struct tune_case *c,
                    const struct tune_result *result)
{
    if ((r->count & (r->count - 1)) == 0) { /* room is a power of two */
        size_t room = r->count ? 2 * r->count : 1;
        struct tune_result *grown = reallocarray(r->results, room, sizeof *grown);
        if (!grown) return 0;
        r->results = grown;
    }
    struct tune_result *to = &r->results[r->count++];
    *to = *result;
    tune_label(c, to->label, sizeof to->label);
    snprintf(to->kind, sizeof to->kind, "%-6s  %-4s  %-4s",
             c->problem->settings.lacks ? "-" : direction_name(c->direction),
             c->problem->settings.lacks ? "-" : type_name(c->type),
             c->problem->settings.lacks ? "-" : tag_name(c->tag));
    if (r->json) print_json(c, result);
    return 1;
}

size_t tune_report_count(const struct tune_report *r, enum tune_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) n += r->results[i].outcome == outcome;
    return n;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void time_text(char text[16], double ms)
{
    if (ms > 0)
        snprintf(text, 16, "%.4f", ms);
    else
        snprintf(text, 16, "-");
}

static void print_result(const struct tune_result *result, int width)
{
    char ms[16], estimate_ms[16], gain[16] = "-";
    time_text(ms, result->ms);
    time_text(estimate_ms, result->estimate_ms);
    if (result->outcome == TUNE_KNOWN || result->outcome == TUNE_FAILED)
        snprintf(gain, sizeof gain, "%s", outcome_name(result->outcome));
    else if (result->ms > 0 && result->estimate_ms > 0)
        snprintf(gain, sizeof gain, "%.2f", result->estimate_ms / result->ms);
    printf("%-*s  %s  %-12s %10s  %-12s %10s  %6s\n", width, result->label, result->kind,
           result->winner[0] ? result->winner : "-", ms,
           result->estimate[0] ? result->estimate : "-", estimate_ms, gain);
    if (result->why[0]) printf("  %s\n", result->why);
}

/* Of what was measured now: how good the estimate was. */
static void print_gain(const struct tune_report *r)
{
    size_t compared = 0, right = 0;
    double logs = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct tune_result *result = &r->results[i];
        if (result->outcome != TUNE_MEASURED || !(result->estimate_ms > 0)) continue;
        compared++;
        right += strcmp(result->winner, result->estimate) == 0;
        logs += log(result->estimate_ms / result->ms);
    }
    if (compared)
        printf("The estimate was right in %zu of %zu; the gain over it is %.3f (geometric mean).\n",
               right, compared, exp(logs / (double)compared));
}

void tune_report_end(struct tune_report *r, const char *path)
{
    if (r->shown) fputs("\r\033[K", stderr);
    r->shown = 0;
    if (r->json) return;
    int width = 7;
    for (size_t i = 0; i < r->count; i++)
        if ((int)strlen(r->results[i].label) > width) width = (int)strlen(r->results[i].label);
    printf("%-*s  %-6s  %-4s  %-4s  %-12s %10s  %-12s %10s  %6s\n", width, "PROBLEM", "DIR", "DT",
           "TAG", "WINNER", "MS", "ESTIMATE", "MS", "GAIN");
    for (size_t i = 0; i < r->count; i++) print_result(&r->results[i], width);
    printf("%zu measured, %zu known, %zu skipped, %zu failed in %.1f s.\n",
           tune_report_count(r, TUNE_MEASURED), tune_report_count(r, TUNE_KNOWN),
           tune_report_count(r, TUNE_SKIPPED), tune_report_count(r, TUNE_FAILED),
           seconds() - r->began);
    print_gain(r);
    if (tune_report_count(r, TUNE_MEASURED) + tune_report_count(r, TUNE_KNOWN) > 0)
        printf("Kept in %s\n", path);
}
