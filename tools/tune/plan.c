/* convop plan: fills the tuning cache for a GPU that is not here, from its properties, and writes
 * the properties of one that is. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/cuda.h"
#include "convop/settings.h"
#include "convop/tune.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/tune/cases.h"

enum { KEY_DEVICE = 512, KEY_DUMP, KEY_JSON };

/* A file of properties has a few hundred bytes. */
#define MOST_BYTES 65536

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "FILE", 0, "Plan for the GPU whose properties are in FILE", 0},
    {"dump-device", KEY_DUMP, "NUMBER", OPTION_ARG_OPTIONAL,
     "Write the properties of this machine's GPU of that number, 0 if none is given", 0},
    {"json", KEY_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

struct planning {
    struct problem_list problems;
    const char *device;
    int json;
    convop_cuda_target *target;
    size_t planned, known, refused;
};

static int dump(int device)
{
    static char json[MOST_BYTES];
    size_t length;
    if (cli_check_settings() != CLI_OK) return CLI_FAILURE;
    if (convop_cuda_properties(device, json, sizeof json, &length) != CONVOP_OK)
        return cli_fail("%s", convop_last_error());
    puts(json);
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct planning *p = state->input;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &p->problems; return 0;
    case KEY_DEVICE: p->device = arg; return 0;
    case KEY_DUMP: {
        const long number = arg ? strtol(arg, &end, 10) : 0;
        if (arg && (end == arg || *end || number < 0 || number > INT_MAX))
            argp_error(state, "--dump-device=%s: want the number of a GPU", arg);
        exit(dump((int)number)); /* as --help does: nothing else is wanted */
    }
    case KEY_JSON: p->json = 1; return 0;
    case ARGP_KEY_END:
        if (!p->device) argp_error(state, "--device=FILE is missing");
        return 0;
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
    .doc =
        "Chooses engines of cuDNN for convolutions on a GPU that need not be here, and keeps the "
        "choices in the tuning cache, where processes on such a GPU find them.\v"
        "Examples:\n"
        "  convop plan --dump-device >h200.json\n"
        "  convop plan --device=h200.json --dir=FWD_D,BWD_D,BWD_W --dt=f16 --batch=net\n\n"
        "Exit status: 1 if the properties are refused, nothing can be kept or no row runs a "
        "problem, 2 for wrong usage.",
};

static int read_target(struct planning *p)
{
    static char json[MOST_BYTES];
    FILE *f = fopen(p->device, "r");
    size_t n = f ? fread(json, 1, sizeof json - 1, f) : 0;
    int error = !f || ferror(f) ? errno : 0;
    if (f) fclose(f);
    if (error) return cli_fail("%s: %s", p->device, strerror(error));
    json[n] = '\0';
    if (strlen(json) < n) return cli_fail("%s: not a text", p->device);
    if (convop_cuda_target_create(json, &p->target) != CONVOP_OK)
        return cli_fail("%s: %s", p->device, convop_last_error());
    return CLI_OK;
}

/* Of cuDNN, where another row is taken instead; where none is, of all. */
static void add_reasons(char *reason, size_t size, const convop_conv_row *rows, size_t count,
                        const convop_conv_row *chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < count && n < size; i++)
        if (!rows[i].applicable && (!chosen || strcmp(rows[i].name, "cudnn") == 0))
            n += (size_t)snprintf(reason + n, size - n, "%s%s: %s", n ? "; " : "", rows[i].name,
                                  rows[i].why_not);
}

static void print(const struct planning *p, const struct tune_case *c, const convop_conv_row *rows,
                  size_t count, const convop_conv_row *chosen, const char *why)
{
    char label[128], reason[1024] = "";
    add_reasons(reason, sizeof reason, rows, count, chosen);
    if (why) snprintf(reason, sizeof reason, "%s", why);
    if (p->json) {
        tune_json_begin(c);
        tune_json_text("impl", chosen ? chosen->name : NULL);
        tune_json_text("choice", choice_name(chosen ? chosen->choice : 0));
        json_key("workspace", 0);
        printf("%zu", chosen ? chosen->workspace_bytes : (size_t)0);
        if (reason[0]) tune_json_text("why", reason);
        puts("}");
        return;
    }
    tune_label(c, label, sizeof label);
    if (c->problem->settings.lacks)
        printf("%s: %s\n", label, why);
    else
        printf("%-32s %-6s %-4s %-4s  %-10s %12zu  %s%s%s\n", label, direction_name(c->direction),
               type_name(c->type), tag_name(c->tag), chosen ? chosen->name : "-",
               chosen ? chosen->workspace_bytes : (size_t)0,
               chosen ? choice_name(chosen->choice) : "refused", reason[0] ? "; " : "", reason);
}

static int visit(struct tune_case *c, void *user)
{
    struct planning *p = user;
    convop_conv_row rows[TUNE_MAX_ROWS];
    size_t count = TUNE_MAX_ROWS;
    const convop_conv_row *chosen = NULL;
    const char *why = c->problem->settings.lacks;
    if (why) {
        count = 0;
    } else if (convop_cuda_plan_conv(p->target, &c->query.params, library_direction(c->direction),
                                     &c->query.src, &c->query.weights, &c->query.dst, &c->exec,
                                     rows, &count) != CONVOP_OK) {
        count = 0;
        why = convop_last_error();
    } else {
        chosen = tune_chosen(rows, &count);
    }
    p->refused += !chosen;
    p->known += chosen && chosen->choice == CONVOP_CHOICE_CACHED;
    p->planned += chosen && chosen->choice != CONVOP_CHOICE_CACHED;
    print(p, c, rows, count, chosen, why);
    fflush(stdout);
    if (cli_check_kept() != CLI_OK) return CLI_FAILURE;
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

static int run(struct planning *p)
{
    char path[4096];
    if (cli_check_settings() != CLI_OK || read_target(p) != CLI_OK ||
        tune_find_file(path, sizeof path) != CLI_OK)
        return CLI_FAILURE;
    int status = tune_each_case(&p->problems, visit, p);
    if (!p->json && status == CLI_OK)
        printf("%zu planned, %zu known, %zu refused. Kept in %s\n", p->planned, p->known,
               p->refused, path);
    return p->refused ? CLI_FAILURE : status;
}

int cli_plan(int argc, char **argv)
{
    struct planning p = {.json = 0};
    problems_init(&p.problems);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &p);
    int status = run(&p);
    convop_cuda_target_destroy(&p.target);
    problems_free(&p.problems);
    return status;
}
