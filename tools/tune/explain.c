/* convop explain: every implementation of a problem with its reason or its times, which one a call
 * would run, and why that one. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "convop/tune.h"
#include "tools/cli.h"
#include "tools/json.h"
#include "tools/tune/cases.h"

enum { KEY_MEASURE = 512, KEY_JSON, KEY_DEVICE, KEY_DEPTHWISE_OFF, KEY_CUDNN_OFF };

static const struct argp_option options[] = {
    {"measure", KEY_MEASURE, NULL, 0, "Measure the rows as well; the cache is left as it is", 0},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "For tensors there: cpu (default), cuda or cuda:NUMBER, a GPU", 0},
    {"depthwise-conv-off", KEY_DEPTHWISE_OFF, NULL, 0, "With the parameter depthwise_conv_off", 0},
    {"cudnn-off", KEY_CUDNN_OFF, NULL, 0, "With the parameter cudnn_off", 0},
    {"json", KEY_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

struct explaining {
    struct problem_list problems;
    int measure, json, depthwise_off, cudnn_off;
    DLDevice device;
    size_t shown, refused;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct explaining *e = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &e->problems; return 0;
    case KEY_MEASURE: e->measure = 1; return 0;
    case KEY_JSON: e->json = 1; return 0;
    case KEY_DEPTHWISE_OFF: e->depthwise_off = 1; return 0;
    case KEY_CUDNN_OFF: e->cudnn_off = 1; return 0;
    case KEY_DEVICE:
        if (!find_device(arg, &e->device))
            argp_error(state, "--device=%s: allowed are cpu, cuda, cuda:NUMBER", arg);
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
    .args_doc = "DESCRIPTOR...",
    .doc = "Says of each implementation why it does not compute a problem, or what the cost model "
           "expects of it; which one a call would run, and why.\v"
           "Examples:\n"
           "  convop explain g32mb1ic32ih112oc32kh3ph1\n"
           "  convop explain --measure --dir=FWD_D,BWD_D,BWD_W mb1ic64ih56oc64kh3ph1\n"
           "  convop explain --device=cuda --cudnn-off --dt=f16 g32mb1ic32ih112oc32kh3ph1\n"
           "  CONVOP_ISA=avx2 convop explain --json --dt=f64 mb1ic3ih224oc32kh3sh2ph1\n\n"
           "Exit status: 1 if a problem is refused or no row computes it, 2 for wrong usage.",
};

/* What is known of a case. */
struct rows {
    convop_conv_row at[TUNE_MAX_ROWS];
    size_t count;
    const convop_conv_row *chosen; /* or NULL */
    const char *fastest;           /* of those that were measured, or NULL */
};

static convop_status ask(const struct explaining *e, struct tune_case *c, struct rows *rows)
{
    struct query *q = &c->query;
    DLTensor *const tensors[] = {&q->src, &q->weights, &q->dst};
    for (int i = 0; i < 3; i++) tensors[i]->device = e->device;
    q->params.depthwise_conv_off = e->depthwise_off;
    q->params.cudnn_off = e->cudnn_off;
    rows->count = TUNE_MAX_ROWS;
    convop_status status =
        convop_conv_explain(&q->params, library_direction(c->direction), &q->src, &q->weights,
                            &q->dst, &c->exec, rows->at, &rows->count);
    if (status != CONVOP_OK) return status;
    rows->chosen = tune_chosen(rows->at, &rows->count);
    if (!e->measure || !rows->chosen) return CONVOP_OK;
    convop_tune_options how = CONVOP_TUNE_OPTIONS_INIT;
    convop_conv_row measured[TUNE_MAX_ROWS];
    size_t count = TUNE_MAX_ROWS;
    how.again = 1;
    how.keep = 0;
    status = convop_conv_tune(&q->params, library_direction(c->direction), &q->src, &q->weights,
                              &q->dst, &c->exec, &how, measured, &count);
    if (status != CONVOP_OK) return status;
    const convop_conv_row *winner = tune_chosen(measured, &count);
    if (winner) rows->fastest = winner->name;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(rows->at[i].name, measured[j].name) == 0) rows->at[i].ms = measured[j].ms;
    return CONVOP_OK;
}

static const char *choice_reason(int choice)
{
    switch (choice) {
    case CONVOP_CHOICE_FORCED: return "the setting impl names it";
    case CONVOP_CHOICE_CACHED: return "the tuning cache knows it as the fastest";
    case CONVOP_CHOICE_ESTIMATED: return "it is the first by the cost model";
    case CONVOP_CHOICE_MEASURED: return "it was measured to be the fastest";
    default: return "";
    }
}

/* ---- for people ---------------------------------------------------------------------------- */

static void time_text(char text[16], double ms)
{
    if (ms > 0)
        snprintf(text, 16, "%.4f", ms);
    else
        snprintf(text, 16, "-");
}

static void print_row(const convop_conv_row *row, int with_ms)
{
    char estimate[16], ms[16];
    if (!row->applicable) {
        printf("  %-12s no: %s\n", row->name, row->why_not);
        return;
    }
    time_text(estimate, row->estimated_ms);
    time_text(ms, row->ms);
    printf("%s%-12s %12s", row->chosen ? "* " : "  ", row->name, estimate);
    if (with_ms) printf(" %12s", ms);
    printf(" %14zu\n", row->workspace_bytes);
}

static void print_text(const struct explaining *e, const struct tune_case *c,
                       const struct rows *rows)
{
    char label[256];
    tune_label(c, label, sizeof label);
    printf("%s%s  %s  %s  %s\n", e->shown ? "\n" : "", label, direction_name(c->direction),
           type_name(c->type), tag_name(c->tag));
    const int with_ms = e->measure || (rows->chosen && rows->chosen->ms > 0);
    int applicable = 0;
    printf("  %-12s %12s%s %14s\n", "ROW", "ESTIMATE ms", with_ms ? "  MEASURED ms" : "",
           "WORKSPACE");
    for (size_t i = 0; i < rows->count; i++) {
        print_row(&rows->at[i], with_ms);
        applicable += rows->at[i].applicable;
    }
    if (rows->chosen)
        printf("  %s runs: %s\n", rows->chosen->name, choice_reason(rows->chosen->choice));
    else
        printf("  no row runs: %s\n", applicable
                                          ? "the setting impl names one that does not compute it"
                                          : "none computes it");
    if (rows->fastest) printf("  %s was the fastest just now\n", rows->fastest);
}

/* ---- for programs -------------------------------------------------------------------------- */

static void print_json_row(const convop_conv_row *row, int first)
{
    fputs(first ? "{" : ", {", stdout);
    json_key("name", 1);
    json_string(row->name);
    json_key("version", 0);
    json_number(row->version);
    tune_json_text("why_not", row->applicable ? NULL : row->why_not);
    json_key("workspace_bytes", 0);
    json_number((double)row->workspace_bytes);
    tune_json_time("estimated_ms", row->estimated_ms);
    tune_json_time("ms", row->ms);
    putchar('}');
}

static void print_json(const struct tune_case *c, const struct rows *rows)
{
    tune_json_begin(c);
    tune_json_text("chosen", rows->chosen ? rows->chosen->name : NULL);
    tune_json_text("choice", choice_name(rows->chosen ? rows->chosen->choice : 0));
    if (rows->fastest) tune_json_text("fastest", rows->fastest);
    json_key("rows", 0);
    putchar('[');
    for (size_t i = 0; i < rows->count; i++) print_json_row(&rows->at[i], i == 0);
    puts("]}");
}

static void refuse(struct explaining *e, const struct tune_case *c, const char *why)
{
    char label[256];
    e->refused++;
    if (e->json) {
        tune_json_begin(c);
        tune_json_text("why", why);
        puts("}");
        return;
    }
    tune_label(c, label, sizeof label);
    printf("%s%s\n  %s\n", e->shown ? "\n" : "", label, why);
}

static int visit(struct tune_case *c, void *user)
{
    struct explaining *e = user;
    struct rows rows = {.count = 0};
    if (c->problem->settings.lacks) {
        refuse(e, c, c->problem->settings.lacks);
    } else if (ask(e, c, &rows) != CONVOP_OK) {
        refuse(e, c, convop_last_error());
    } else {
        if (e->json)
            print_json(c, &rows);
        else
            print_text(e, c, &rows);
        e->refused += !rows.chosen;
    }
    e->shown++;
    fflush(stdout);
    return ferror(stdout) ? CLI_FAILURE : CLI_OK;
}

int cli_explain(int argc, char **argv)
{
    struct explaining e = {.device = {kDLCPU, 0}};
    problems_init(&e.problems);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &e);
    int status = cli_check_settings();
    if (status == CLI_OK) status = tune_each_case(&e.problems, visit, &e);
    if (e.refused) status = CLI_FAILURE;
    problems_free(&e.problems);
    return status;
}
