/* The command line's side: argp's tables, help, and how a refused text is shown. */
#include <stdlib.h>

#include "tools/cli.h"
#include "tools/problems/internal.h"

enum {
    KEY_BATCH = 256,
    KEY_DIR,
    KEY_DT,
    KEY_TAG,
    KEY_MB,
    KEY_MATCH,
    KEY_POST_OPS,
    KEY_THREADS,
    KEY_MODE,
    KEY_IMPL,
    KEY_PREPARED,
    KEY_MIN_TIME,
    KEY_REPEAT
};

static const struct argp_option options[] = {
    {"dir", KEY_DIR, "LIST", 0,
     "FWD_B (with bias), FWD_D, FWD_I (both without), BWD_D, BWD_W, BWD_WB (with bias); "
     "default FWD_B",
     0},
    {"dt", KEY_DT, "LIST", 0, "f32, f64, f16, bf16; default f32", 0},
    {"tag", KEY_TAG, "LIST", 0,
     "nchw (also ncw, ncdhw, abx) or nhwc (also nwc, ndhwc, axb), for any number of axes; "
     "default nchw",
     0},
    {"mb", KEY_MB, "LIST", 0, "Batch sizes instead of the descriptor's; 0: that one", 0},
    {"match", KEY_MATCH, "REGEX", 0, "Only descriptors with a part that matches", 0},
    {"attr-post-ops", KEY_POST_OPS, "OPS", 0,
     "What follows a forward convolution: sum (dst itself is added) or add (another tensor is), "
     "relu or clip:0:6, or one of each, sum+relu",
     0},
    {"threads", KEY_THREADS, "N", 0, "Threads, 1 to 4096; 0, the default: as the process is set",
     0},
    {"batch", KEY_BATCH, "FILE", 0, "Descriptors and options from a file", 0},
    {0},
};

static const struct argp_option run_options[] = {
    {"mode", KEY_MODE, "MODE", 0,
     "C checks the result, P measures the time, CP does both; default C", 0},
    {"impl", KEY_IMPL, "NAME", 0,
     "Run this row, or nothing; all, or a list of names, runs each of them in turn", 0},
    {"prepared", KEY_PREPARED, NULL, 0, "Time an instance whose weights were packed before", 0},
    {"min-time", KEY_MIN_TIME, "MS", 0, "Repeat a call for so many milliseconds; default 200", 0},
    {"repeat", KEY_REPEAT, "N", 0, "Repeat a call N times, whatever the time", 0},
    {0},
};

static const char help[] =
    "A descriptor is keys with numbers: g mb ic oc, and id ih iw od oh ow kd kh kw sd sh "
    "sw pd ph pw dd dh dw (input, output, kernel, stride, padding, dilation); n takes "
    "the rest as the name. Not given: g 1, mb 2, strides 1, paddings 0, dilations 0 "
    "(0 is dense), w as h, outputs computed. A given output decides the padding at the "
    "end. An option counts for the descriptors after it; after the last one, for all.\n\n"
    "A batch file has descriptors and options as the command line has them, # before comments, "
    "and --batch=FILE for files beside it; benchdnn's own can be read. Options that convop does "
    "not have are counted and left out.\n\n";

char *problems_help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *whole;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)(uintptr_t)text;
    return asprintf(&whole, "%s%s", help, text) < 0 ? NULL : whole; /* argp frees it */
}

/* What a terminal would act on is not written to it. */
static void put_text(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        int blank = c == '\t' || c == '\r' || c == '\n';
        fputc(blank ? ' ' : c < 0x20 || c == 0x7f ? '?' : c, stderr);
    }
}

static void show_error(const char *command, const struct problem_error *error)
{
    fprintf(stderr, "%s: ", command);
    if (error->file) fprintf(stderr, "%s:%d: ", error->file, error->line);
    put_text(error->text);
    fputc('\n', stderr);
    if (!error->source[0]) return;
    int column = 0; /* a byte within a character is none */
    for (size_t i = 0; error->source[i] && i < error->at; i++)
        column += ((unsigned char)error->source[i] & 0xc0) != 0x80;
    fputs("  ", stderr);
    put_text(error->source);
    fprintf(stderr, "\n  %*s^\n", column, "");
}

void problems_stop(struct argp_state *state, const struct problem_error *error)
{
    show_error(state->name, error);
    if (error->failed) exit(CLI_FAILURE);
    argp_state_help(state, stderr, ARGP_HELP_STD_ERR);
}

static const char *name_of(int key)
{
    for (const struct argp_option *o = options; o->name; o++)
        if (o->key == key) return o->name;
    for (const struct argp_option *o = run_options; o->name; o++)
        if (o->key == key) return o->name;
    return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct problem_list *list = state->input;
    struct problem_error error;
    int good;
    switch (key) {
    case ARGP_KEY_ARG: good = problems_add(list, arg, &error); break;
    case KEY_BATCH: good = problems_batch(list, arg, &error); break;
    case ARGP_KEY_END:
        if (!list->count) argp_error(state, "a descriptor is missing");
        good = problems_finish(list, &error);
        break;
    default:
        if (!name_of(key)) return ARGP_ERR_UNKNOWN;
        good = problems_option(list, name_of(key), arg, 0, &error);
    }
    if (!good) problems_stop(state, &error);
    return 0;
}

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    return name_of(key) ? parse(key, arg, state) : ARGP_ERR_UNKNOWN;
}

const struct argp problems_argp = {.options = options, .parser = parse};
const struct argp problems_run_argp = {.options = run_options, .parser = parse_run};
