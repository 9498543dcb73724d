/* The command line of `convop bench`: options count for the descriptors after them, as in
 * benchdnn; those that stand after the last descriptor count for all. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

enum {
    OPT_DIR = 256,
    OPT_DT,
    OPT_TAG,
    OPT_MODE,
    OPT_IMPL,
    OPT_THREADS,
    OPT_REPEAT,
    OPT_TIME,
    OPT_JSON
};

static const struct argp_option options[] = {
    {"dir", OPT_DIR, "LIST", 0,
     "FWD_B (with bias), FWD_D, FWD_I (both without), BWD_D, BWD_W, BWD_WB (with bias); "
     "default FWD_B",
     0},
    {"dt", OPT_DT, "LIST", 0, "f32, f64; default f32", 0},
    {"tag", OPT_TAG, "LIST", 0,
     "nchw (also ncw, ncdhw, abx) or nhwc (also nwc, ndhwc, axb), for any number of axes; "
     "default nchw",
     0},
    {"mode", OPT_MODE, "MODE", 0,
     "C checks the result, P measures the time, CP does both; default C", 0},
    {"impl", OPT_IMPL, "NAME", 0,
     "Run this row, or nothing; all runs each row that applies, in turn", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads, 1 to 4096; 0, the default: as the process is set",
     0},
    {"min-time", OPT_TIME, "MS", 0, "Repeat a call for so many milliseconds; default 200", 0},
    {"repeat", OPT_REPEAT, "N", 0, "Repeat a call N times, whatever the time", 0},
    {"json", OPT_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

struct reader {
    struct bench_arguments *out;
    struct settings now;
    unsigned since; /* bit (key - OPT_DIR): given after the last descriptor */
};

static void refuse_value(struct argp_state *state, const char *option, const char *value,
                         const char *allowed)
{
    argp_error(state, "--%s=%s: allowed are %s", option, value, allowed);
}

/* ---- lists --------------------------------------------------------------------------------- */

static int find_direction(const char *name)
{
    for (int i = 0; i < NUM_DIRECTIONS; i++)
        if (strcasecmp(name, direction_name(i)) == 0) return i;
    return -1;
}

static int find_type(const char *name)
{
    for (int i = 0; i < NUM_TYPES; i++)
        if (strcasecmp(name, type_name(i)) == 0) return i;
    return -1;
}

static int find_tag(const char *name)
{
    static const char *const names[NUM_TAGS][4] = {
        [NCHW] = {"nchw", "ncw", "ncdhw", "abx"}, [NHWC] = {"nhwc", "nwc", "ndhwc", "axb"}};
    for (int i = 0; i < NUM_TAGS; i++)
        for (int j = 0; j < 4; j++)
            if (strcasecmp(name, names[i][j]) == 0) return i;
    return -1;
}

/* A list with commas; 0 if a word of it has no meaning. */
static int read_list(const char *text, int (*find)(const char *name), struct choices *list)
{
    list->count = 0;
    for (;;) {
        char word[16];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word) return 0;
        memcpy(word, text, length);
        word[length] = 0;
        int value = find(word), known = 0;
        if (value < 0) return 0;
        for (int i = 0; i < list->count; i++) known |= list->at[i] == value;
        if (!known) list->at[list->count++] = value;
        if (!text[length]) return 1;
        text += length + 1;
    }
}

/* ---- single values ------------------------------------------------------------------------- */

static int read_int(const char *text, int low, int high, int *value)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < low || v > high) return 0;
    *value = (int)v;
    return 1;
}

static int read_mode(const char *text, unsigned *mode)
{
    *mode = 0;
    for (const char *s = text; *s; s++) {
        unsigned bit = *s == 'C' || *s == 'c' ? MODE_CHECK : *s == 'P' || *s == 'p' ? MODE_TIME : 0;
        if (!bit) return 0;
        *mode |= bit;
    }
    return *mode != 0;
}

static void read_option(int key, const char *arg, struct argp_state *state, struct settings *s)
{
    int ms = 0;
    switch (key) {
    case OPT_DIR:
        if (!read_list(arg, find_direction, &s->directions))
            refuse_value(state, "dir", arg, "FWD_B, FWD_D, FWD_I, BWD_D, BWD_W, BWD_WB");
        break;
    case OPT_DT:
        if (!read_list(arg, find_type, &s->types)) refuse_value(state, "dt", arg, "f32, f64");
        break;
    case OPT_TAG:
        if (!read_list(arg, find_tag, &s->tags)) refuse_value(state, "tag", arg, "nchw, nhwc");
        break;
    case OPT_MODE:
        if (!read_mode(arg, &s->mode)) refuse_value(state, "mode", arg, "C, P, CP");
        break;
    case OPT_IMPL: s->impl = arg; break;
    case OPT_THREADS:
        if (!read_int(arg, 0, 4096, &s->threads)) refuse_value(state, "threads", arg, "0 to 4096");
        break;
    case OPT_REPEAT:
        if (!read_int(arg, 1, 1000000, &s->repeat))
            refuse_value(state, "repeat", arg, "1 to 1000000");
        break;
    case OPT_TIME:
        if (!read_int(arg, 1, 3600000, &ms)) refuse_value(state, "min-time", arg, "1 to 3600000");
        s->min_time = ms;
        s->repeat = 0;
        break;
    }
}

static void copy_option(int key, const struct settings *from, struct settings *to)
{
    switch (key) {
    case OPT_DIR: to->directions = from->directions; break;
    case OPT_DT: to->types = from->types; break;
    case OPT_TAG: to->tags = from->tags; break;
    case OPT_MODE: to->mode = from->mode; break;
    case OPT_IMPL: to->impl = from->impl; break;
    case OPT_THREADS: to->threads = from->threads; break;
    case OPT_REPEAT:
    case OPT_TIME:
        to->repeat = from->repeat;
        to->min_time = from->min_time;
        break;
    }
}

/* ---- descriptors --------------------------------------------------------------------------- */

/* Shows where it is wrong. Only ASCII stands before that place, so a byte is a column. */
static void refuse_descriptor(struct argp_state *state, const char *text,
                              const struct descriptor_error *error)
{
    fprintf(stderr, "%s: %s\n  ", state->name, error->text);
    for (const char *s = text; *s; s++)
        fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, stderr);
    fprintf(stderr, "\n  %*s^\n", (int)error->at, "");
    argp_state_help(state, stderr, ARGP_HELP_STD_ERR);
}

static void add_request(struct argp_state *state, struct reader *r, const char *text)
{
    struct bench_arguments *out = r->out;
    struct request request = {.text = text, .settings = r->now};
    struct descriptor_error error;
    if (!descriptor_parse(text, &request.problem, &error)) refuse_descriptor(state, text, &error);
    out->requests[out->count++] = request;
    r->since = 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct reader *r = state->input;
    switch (key) {
    case OPT_JSON: r->out->json = 1; return 0;
    case ARGP_KEY_ARG: add_request(state, r, arg); return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a descriptor is missing"); return EINVAL;
    case ARGP_KEY_END:
        for (int i = 0; i < r->out->count; i++)
            for (int k = OPT_DIR; k < OPT_JSON; k++)
                if (r->since & 1u << (k - OPT_DIR))
                    copy_option(k, &r->now, &r->out->requests[i].settings);
        return 0;
    default:
        if (key < OPT_DIR || key >= OPT_JSON) return ARGP_ERR_UNKNOWN;
        read_option(key, arg, state, &r->now);
        r->since |= 1u << (key - OPT_DIR);
        return 0;
    }
}

void bench_parse(int argc, char **argv, struct bench_arguments *arguments)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DESCRIPTOR...",
        .doc =
            "Checks and times convolutions, written as benchdnn writes them.\v"
            "A descriptor is keys with numbers: g mb ic oc, and id ih iw od oh ow kd kh kw sd sh "
            "sw pd ph pw dd dh dw (input, output, kernel, stride, padding, dilation); n takes "
            "the rest as the name. Not given: g 1, mb 2, strides 1, paddings 0, dilations 0 "
            "(0 is dense), w as h, outputs computed. A given output decides the padding at the "
            "end. An option counts for the descriptors after it; after the last one, for all.\n\n"
            "Examples:\n"
            "  convop bench ic16ih7oc32kh3ph1\n"
            "  convop bench --mode=CP --dir=FWD_D,BWD_D,BWD_W --tag=nhwc \\\n"
            "      g32mb1ic32ih112oc32kh3sh2ph1n\"mbv1:dw2\"\n"
            "  convop bench --impl=all --dt=f64 --json mb1ic3iw100oc4kw5\n\n"
            "The limit is the larger of flops by the measured peak and bytes by the measured "
            "bandwidth. Exit status: 1 if a check fails or no problem could run, 2 for wrong "
            "usage.",
    };
    arguments->requests = calloc((size_t)argc, sizeof *arguments->requests);
    struct reader r = {
        .out = arguments,
        .now = {.directions = {1, {FWD_B}},
                .types = {1, {F32}},
                .tags = {1, {NCHW}},
                .mode = MODE_CHECK,
                .min_time = 200},
    };
    if (arguments->requests) argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r);
}
