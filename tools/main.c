/* The command `convop`: finds the sub-command and hands over the rest of the line. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/plugin.h"
#include "convop/version.h"
#include "tools/cli.h"

static int cli_help(int argc, char **argv);

/* One line a sub-command, in the order of the help text. */
static const struct cli_command commands[] = {
    {"ops", "list operators, or describe one", cli_ops},
    {"info", "show version, CPU, libraries, settings and where they come from", cli_info},
    {"bench", "check and time convolutions", cli_bench},
    {"explain", "say which implementation runs a convolution, and why", cli_explain},
    {"tune", "measure which implementation is the fastest, and keep it", cli_tune},
    {"plan", "choose engines of cuDNN for a GPU that is not here", cli_plan},
    {"cache", "look after what was measured", cli_cache},
#ifdef CLI_HAVE_IO
    {"im2rec", "make lists and record files of images", cli_im2rec},
#endif
    {"help", "describe a command", cli_help},
};

static const size_t num_commands = sizeof commands / sizeof commands[0];

struct choice {
    const struct cli_command *command;
    int next; /* index in argv of what follows the command's name */
};

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "convop %s\n", convop_version_string());
    if (convop_version() != CONVOP_VERSION)
        fprintf(stream, "built for %d.%d.%d, the loaded library is another version\n",
                CONVOP_VERSION_MAJOR, CONVOP_VERSION_MINOR, CONVOP_VERSION_PATCH);
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < num_commands; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

static const struct argp_option options[] = {
    {"plugin", 'P', "PATH", 0, "Load a plug-in first; may be given more than once", 0},
    {0},
};

/* It stays loaded to the end of the program. */
static void load_plugin(const char *path)
{
    convop_plugin_handle *plugin = NULL;
    if (convop_plugin_load(path, &plugin) != CONVOP_OK) exit(cli_fail("%s", convop_last_error()));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *choice = state->input;
    switch (key) {
    case 'P': load_plugin(arg); return 0;
    case ARGP_KEY_ARG:
        choice->command = find(arg);
        if (!choice->command) argp_error(state, "there is no command \"%s\"", arg);
        choice->next = state->next;
        state->next = state->argc; /* the rest is the command's own */
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a command is missing"); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The list of commands, between the options and the examples of the help text. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)(uintptr_t)text;
    char *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    if (!out) return NULL;
    fputs("Commands:\n", out);
    for (size_t i = 0; i < num_commands; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].doc);
    fprintf(out, "\n%s", text);
    if (fclose(out) != 0) return NULL;
    return list; /* argp frees it */
}

static const struct argp main_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = "Neural-network operators: what there is, what this machine has, and how fast it runs.\v"
           "Examples:\n"
           "  convop ops Convolution\n"
           "  convop info\n"
           "  convop bench --mode=CP g32mb1ic32ih112oc32kh3ph1\n"
           "  convop explain --measure mb1ic64ih56oc64kh3ph1\n"
           "  convop tune --dir=FWD_D,BWD_D,BWD_W --batch=FILE\n"
           "  convop cache list\n"
           "  convop --plugin=./example.so ops\n"
           "  convop help bench\n\n"
           "Exit status: 0 done, 1 failed, 2 wrong usage.",
    .help_filter = help_filter,
};

static int run(const struct cli_command *command, int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "convop %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
    const struct cli_command **command = state->input;
    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    if (*command) argp_error(state, "one command at most, not also \"%s\"", arg);
    *command = find(arg);
    if (!*command) argp_error(state, "there is no command \"%s\"", arg);
    return 0;
}

static int cli_help(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = parse_help,
        .args_doc = "[COMMAND]",
        .doc = "Describes a command, or convop itself.\v"
               "Example:\n  convop help bench",
    };
    const struct cli_command *command = NULL;
    argp_parse(&argp, argc, argv, 0, NULL, &command);

    char help[] = "--help", self[] = "convop";
    char *args[] = {self, help, NULL};
    if (command && command->run != cli_help) return run(command, 2, args);
    argp_parse(command ? &argp : &main_argp, 2, args, 0, NULL, NULL);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    argp_err_exit_status = CLI_USAGE;
    argp_program_version_hook = print_version;
    cli_watch_stdout();

    char self[] = "convop"; /* in every message, wherever the program lies */
    if (argc > 0) argv[0] = self;
    struct choice choice = {NULL, 0};
    argp_parse(&main_argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
    /* The slot before the command's arguments becomes its argv[0]. */
    return run(choice.command, argc - choice.next + 1, argv + choice.next - 1);
}
