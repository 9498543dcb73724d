/* convop cache list and path. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/cache/cache.h"
#include "tools/cli.h"
#include "tools/json.h"

enum { KEY_FOREIGN = 512, KEY_JSON };

struct listing {
    convop_tune_filter filter;
    int json;
};

static const struct argp_option options[] = {
    {"foreign", KEY_FOREIGN, NULL, 0, "Only what this machine and these versions do not use", 0},
    {"json", KEY_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct listing *l = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &l->filter; return 0;
    case KEY_FOREIGN: l->filter.foreign = 1; return 0;
    case KEY_JSON: l->json = 1; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void date_text(char *text, size_t size, int64_t when)
{
    struct tm tm;
    time_t t = (time_t)when;
    if (!gmtime_r(&t, &tm) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
        snprintf(text, size, "%lld", (long long)when);
}

static int same(const convop_tune_record *a, const convop_tune_record *b)
{
    return a && strcmp(a->device, b->device) == 0 && strcmp(a->software, b->software) == 0;
}

/* One heading for all of a device and its versions: records come in that order. */
static void print_heading(const convop_tune_record *r, int first)
{
    printf("%s%s\n%s\n", first ? "" : "\n", r->device, r->software);
    printf("  %-16s %10s %7s %12s  %-20s  PROBLEM\n", "WINNER", "MS", "GAIN", "WORKSPACE", "WHEN");
}

static void print_record(const convop_tune_record *r)
{
    char winner[96], gain[16] = "-", when[32];
    snprintf(winner, sizeof winner, "%s/%d", r->impl, r->impl_version);
    if (r->ms > 0 && r->estimated_ms > 0)
        snprintf(gain, sizeof gain, "%.2f", r->estimated_ms / r->ms);
    date_text(when, sizeof when, r->when);
    printf("  %-16s %10.4f %7s %12llu  %-20s  %s\n", winner, r->ms, gain,
           (unsigned long long)r->workspace_bytes, when, r->problem);
}

static void text_member(const char *key, const char *text, int first)
{
    json_key(key, first);
    json_string(text);
}

static void number_member(const char *key, double value)
{
    json_key(key, 0);
    json_number(value);
}

static void print_json(const convop_tune_record *r)
{
    putchar('{');
    text_member("device", r->device, 1);
    text_member("software", r->software, 0);
    text_member("problem", r->problem, 0);
    text_member("impl", r->impl, 0);
    number_member("impl_version", r->impl_version);
    number_member("ms", r->ms);
    json_key("estimated_ms", 0);
    if (r->estimated_ms > 0)
        json_number(r->estimated_ms);
    else
        fputs("null", stdout);
    json_key("workspace_bytes", 0);
    printf("%llu", (unsigned long long)r->workspace_bytes);
    json_key("when", 0);
    printf("%lld", (long long)r->when);
    text_member("plan", r->plan, 0);
    puts("}");
}

int cache_list(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cache_filter_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .doc = "Shows the records of the tuning cache, sorted by device, versions and problem. "
               "GAIN is the time of the row that would run without tuning, by the winner's.\v"
               "Examples:\n"
               "  convop cache list --impl=depthwise\n"
               "  convop cache list --foreign --json",
    };
    const convop_tune_filter any = CONVOP_TUNE_FILTER_INIT;
    struct listing l = {.filter = any};
    argp_parse(&argp, argc, argv, 0, NULL, &l);
    convop_tune_listing *all = NULL;
    if (convop_tune_list(&l.filter, &all) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    const convop_tune_record *before = NULL, *r;
    for (size_t i = 0; (r = convop_tune_listing_at(all, i)) && !ferror(stdout); i++, before = r) {
        if (!l.json && !same(before, r)) print_heading(r, i == 0);
        l.json ? print_json(r) : print_record(r);
    }
    if (!l.json && !before) puts("no records");
    convop_tune_listing_destroy(&all);
    return CLI_OK;
}

/* ---- path ---------------------------------------------------------------------------------- */

static error_t parse_path(int key, char *arg, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    argp_error(state, "it takes no argument, not \"%s\"", arg);
    return 0;
}

int cache_path(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_path,
        .doc = "Says where the file of the tuning cache is, whether it exists yet or not.\v"
               "Example:\n"
               "  cp \"$(convop cache path)\" tuned-on-$(hostname).tsv\n\n"
               "Exit status: 1 if there is none.",
    };
    char path[4096], why[512];
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    convop_tune_path(path, sizeof path, why, sizeof why);
    if (!path[0]) return cli_fail("there is no tuning cache: %s", why);
    puts(path);
    if (why[0]) fprintf(stderr, "convop: it cannot be written: %s\n", why);
    return CLI_OK;
}
