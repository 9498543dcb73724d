/* convop cache: finds the sub-command and hands over the rest of the line; what they share. */
#include "tools/cache/cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli.h"

static const struct cache_command commands[] = {
    {"list", "show what was measured", cache_list},
    {"path", "say where the file is", cache_path},
    {"merge", "take over the records of other files", cache_merge},
    {"prune", "remove what is damaged, old or of other machines", cache_prune},
    {"clear", "remove records", cache_clear},
};
static const size_t num_commands = sizeof commands / sizeof commands[0];

struct choice {
    const struct cache_command *command;
    int next; /* index in argv of what follows the command's name */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < num_commands; i++)
            if (strcmp(arg, commands[i].name) == 0) choice->command = &commands[i];
        if (!choice->command) argp_error(state, "there is no command \"%s\"", arg);
        choice->next = state->next;
        state->next = state->argc; /* the rest is the command's own */
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a command is missing"); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .parser = parse,
    .args_doc = "list|path|merge|prune|clear [ARGUMENT...]",
    .doc = "Looks after the tuning cache: what was measured to be the fastest, for which problem, "
           "on which machine.\v"
           "list shows it, path says where the file is, merge takes over the records of other "
           "files, prune removes what is damaged, old or of other machines, clear removes "
           "records.\n\n"
           "Examples:\n"
           "  convop cache list --problem=kh3\n"
           "  convop cache merge node1/tuning.tsv node2/tuning.tsv\n"
           "  convop cache prune --older=90\n"
           "  convop cache list --help",
};

int cli_cache(int argc, char **argv)
{
    struct choice choice = {NULL, 0};
    char name[64];
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
    if (cli_check_settings() != CLI_OK) return CLI_FAILURE;
    snprintf(name, sizeof name, "convop cache %s", choice.command->name);
    /* The slot before the command's arguments becomes its argv[0]. */
    argv += choice.next - 1;
    argv[0] = name;
    return choice.command->run(argc - choice.next + 1, argv);
}

/* ---- shared -------------------------------------------------------------------------------- */

enum { KEY_DEVICE = 256, KEY_SOFTWARE, KEY_PROBLEM, KEY_IMPL };

static const struct argp_option filter_options[] = {
    {"device", KEY_DEVICE, "TEXT", 0, "Only records of devices with this text", 0},
    {"software", KEY_SOFTWARE, "TEXT", 0, "Only records of versions with this text", 0},
    {"problem", KEY_PROBLEM, "TEXT", 0, "Only records of problems with this text", 0},
    {"impl", KEY_IMPL, "TEXT", 0, "Only records whose winner has this text in its name", 0},
    {0},
};

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
    convop_tune_filter *filter = state->input;
    switch (key) {
    case KEY_DEVICE: filter->device = arg; return 0;
    case KEY_SOFTWARE: filter->software = arg; return 0;
    case KEY_PROBLEM: filter->problem = arg; return 0;
    case KEY_IMPL: filter->impl = arg; return 0;
    case ARGP_KEY_ARG: argp_error(state, "it takes no argument, not \"%s\"", arg); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cache_filter_argp = {.options = filter_options, .parser = parse_filter};

int cache_takes_all(const convop_tune_filter *filter)
{
    return !filter->device && !filter->software && !filter->problem && !filter->impl;
}

int cache_find_file(char *path, size_t size)
{
    char why[512];
    convop_tune_path(path, size, why, sizeof why);
    if (!why[0]) return CLI_OK;
    if (!path[0]) return cli_fail("there is no tuning cache: %s", why);
    return cli_fail("the tuning cache %s cannot be written: %s", path, why);
}

void cache_print_count(size_t n, const char *what)
{
    printf("%zu %s%s", n, what, n == 1 ? "" : "s");
}
