/* convop cache merge, prune and clear: what changes the file, and says so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/cache/cache.h"
#include "tools/cli.h"

/* No record's text has one. */
#define IN_NO_RECORD "\n"

/* ---- merge --------------------------------------------------------------------------------- */

struct merging {
    char **files;
    int count;
};

static error_t parse_merge(int key, char *arg, struct argp_state *state)
{
    struct merging *m = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_ARGS:
        m->files = state->argv + state->next;
        m->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a file is missing"); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* A file without a header and without records is none of ours: a failure, as a newer format is. */
static int merge(const char *file)
{
    convop_tune_counts counts = {.struct_size = sizeof counts};
    if (convop_tune_import(file, &counts) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    printf("%s: ", file);
    cache_print_count(counts.records, "record");
    if (counts.bad) {
        fputs(", ", stdout);
        cache_print_count(counts.bad, "line");
        fputs(" left out", stdout);
    }
    const int is_newer = counts.format > CONVOP_TUNE_FORMAT;
    const int is_none = counts.format == 0 && counts.records == 0;
    if (is_newer)
        printf(": it is of format %d, this version reads %d", counts.format, CONVOP_TUNE_FORMAT);
    if (is_none) fputs(": it is no tuning cache", stdout);
    putchar('\n');
    return is_newer || is_none ? CLI_FAILURE : cli_check_kept();
}

int cache_merge(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_merge,
        .args_doc = "FILE...",
        .doc = "Takes the records of other files into the tuning cache. Of two records for the "
               "same problem, device and versions the newer one counts. Records of other "
               "machines are kept for those.\v"
               "Example:\n"
               "  convop cache merge node1/tuning.tsv node2/tuning.tsv\n\n"
               "Exit status: 1 if one of the files cannot be read or nothing could be kept.",
    };
    struct merging m = {NULL, 0};
    char path[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &m);
    int status = cache_find_file(path, sizeof path);
    if (status != CLI_OK) return status;
    int taken = 0;
    for (int i = 0; i < m.count; i++)
        if (merge(m.files[i]) == CLI_OK)
            taken++;
        else
            status = CLI_FAILURE;
    if (taken > 0) printf("Kept in %s\n", path);
    return status;
}

/* ---- prune --------------------------------------------------------------------------------- */

enum { KEY_FOREIGN = 512, KEY_OLDER, KEY_YES };

struct pruning {
    int foreign, older; /* days; -1: not asked for */
};

static const struct argp_option prune_options[] = {
    {"foreign", KEY_FOREIGN, NULL, 0,
     "Remove what this machine and these versions do not use, but for plans of this version for "
     "GPUs elsewhere; others may share the file",
     0},
    {"older", KEY_OLDER, "DAYS", 0, "Remove what was measured more than so many days ago", 0},
    {0},
};

static error_t parse_prune(int key, char *arg, struct argp_state *state)
{
    struct pruning *p = state->input;
    char *end;
    long days;
    switch (key) {
    case KEY_FOREIGN: p->foreign = 1; return 0;
    case KEY_OLDER:
        errno = 0;
        days = strtol(arg, &end, 10);
        if (end == arg || *end || errno || days < 0 || days > 36500)
            argp_error(state, "--older=%s: allowed are 0 to 36500", arg);
        p->older = (int)days;
        return 0;
    case ARGP_KEY_ARG: argp_error(state, "it takes no argument, not \"%s\"", arg); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Lines of the file that the library cannot use. */
static size_t bad_lines(const char *path)
{
    convop_tune_counts counts = {.struct_size = sizeof counts};
    return convop_tune_import(path, &counts) == CONVOP_OK ? counts.bad : 0;
}

/* Removes what the filter means and says how many they were. */
static int forget(const convop_tune_filter *filter, const char *what)
{
    size_t count = 0;
    if (convop_tune_forget(filter, &count) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    cache_print_count(count, "record");
    printf(" %s, ", what);
    return CLI_OK;
}

int cache_prune(int argc, char **argv)
{
    static const struct argp argp = {
        .options = prune_options,
        .parser = parse_prune,
        .doc = "Removes damaged lines and records that newer ones replace from the file of the "
               "tuning cache, and what else is asked for.\v"
               "Examples:\n"
               "  convop cache prune\n"
               "  convop cache prune --foreign --older=90",
    };
    struct pruning p = {0, -1};
    char path[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &p);
    int status = cache_find_file(path, sizeof path);
    if (status != CLI_OK) return status;
    size_t bad = bad_lines(path);
    convop_tune_filter nothing = CONVOP_TUNE_FILTER_INIT, foreign = nothing, old = nothing;
    nothing.problem = IN_NO_RECORD;
    foreign.foreign = 1;
    old.before = (int64_t)time(NULL) - (int64_t)p.older * 24 * 60 * 60;
    /* Whatever is forgotten, the file is written anew without what nobody needs. */
    if (convop_tune_forget(&nothing, NULL) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    size_t left = bad_lines(path);
    if (p.foreign) status = forget(&foreign, "of other machines or versions");
    if (p.older >= 0 && status == CLI_OK) status = forget(&old, "that are too old");
    if (status != CLI_OK) return status;
    cache_print_count(bad > left ? bad - left : 0, "damaged line");
    printf(" removed from %s\n", path);
    return CLI_OK;
}

/* ---- clear --------------------------------------------------------------------------------- */

struct clearing {
    convop_tune_filter filter;
    int yes;
};

static const struct argp_option clear_options[] = {
    {"yes", KEY_YES, NULL, 0, "Do it; without, it is only said what would be removed", 0},
    {0},
};

static error_t parse_clear(int key, char *arg, struct argp_state *state)
{
    struct clearing *c = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &c->filter; return 0;
    case KEY_YES: c->yes = 1; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int announce(const convop_tune_filter *filter, const char *path)
{
    convop_tune_listing *all = NULL;
    if (convop_tune_list(filter, &all) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    const size_t count = convop_tune_listing_count(all);
    cli_fail("%zu record%s would be removed from %s: say --yes", count, count == 1 ? "" : "s",
             path);
    convop_tune_listing_destroy(&all);
    return CLI_USAGE;
}

int cache_clear(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cache_filter_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = clear_options,
        .parser = parse_clear,
        .children = children,
        .doc = "Removes records from the tuning cache: those that are meant, or all.\v"
               "Examples:\n"
               "  convop cache clear --impl=gemm --yes\n"
               "  convop cache clear --yes\n\n"
               "Exit status: 2 without --yes.",
    };
    const convop_tune_filter any = CONVOP_TUNE_FILTER_INIT;
    struct clearing c = {.filter = any};
    char path[4096];
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    int status = cache_find_file(path, sizeof path);
    if (status != CLI_OK) return status;
    if (!c.yes) return announce(&c.filter, path);
    size_t count = 0;
    if (convop_tune_forget(cache_takes_all(&c.filter) ? NULL : &c.filter, &count) != CONVOP_OK)
        return cli_fail("%s", convop_last_error());
    cache_print_count(count, "record");
    printf(" removed from %s\n", path);
    return CLI_OK;
}
