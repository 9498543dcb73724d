/* convop im2rec: the options, which are those of MXNet's im2rec.py and a few more. */
#include "tools/im2rec/im2rec.h"

#include <argp.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"

enum {
    KEY_LIST = 256,
    KEY_EXTS,
    KEY_CHUNKS,
    KEY_TRAIN_RATIO,
    KEY_TEST_RATIO,
    KEY_RECURSIVE,
    KEY_NO_SHUFFLE,
    KEY_PASS_THROUGH,
    KEY_RESIZE,
    KEY_CENTER_CROP,
    KEY_QUALITY,
    KEY_NUM_THREAD,
    KEY_COLOR,
    KEY_ENCODING,
    KEY_PACK_LABEL,
    KEY_SKIP_BAD,
    KEY_KEEP_DAMAGED
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Lists:", 1},
    {"list", KEY_LIST, NULL, 0, "Make PREFIX.lst of the images in ROOT; without it, records", 1},
    {"exts", KEY_EXTS, "EXT...", 0,
     "What images' names end in, up to the next option; default .jpeg .jpg .png", 1},
    {"chunks", KEY_CHUNKS, "N", 0, "Number of lists, PREFIX_0.lst and so on; default 1", 1},
    {"train-ratio", KEY_TRAIN_RATIO, "R", 0, "Share of images in PREFIX_train.lst; default 1", 1},
    {"test-ratio", KEY_TEST_RATIO, "R", 0, "Share of images in PREFIX_test.lst; default 0", 1},
    {"recursive", KEY_RECURSIVE, NULL, 0, "Look into folders too; each is a label of its own", 1},
    {"no-shuffle", KEY_NO_SHUFFLE, NULL, 0, "Leave the list sorted", 1},
    {NULL, 0, NULL, 0, "Records:", 2},
    {"pass-through", KEY_PASS_THROUGH, NULL, 0, "Pack the image files as they are", 2},
    {"resize", KEY_RESIZE, "N", 0, "Make the shorter side N pixels; default 0, as it is", 2},
    {"center-crop", KEY_CENTER_CROP, NULL, 0, "Cut the largest square from the middle", 2},
    {"quality", KEY_QUALITY, "N", 0, "JPEG 1-100; PNG compression 0-9, more is 9; default 95", 2},
    {"num-thread", KEY_NUM_THREAD, "N", 0, "Threads; the order stays the list's; default 1", 2},
    {"color", KEY_COLOR, "N", 0, "1 RGB, 0 gray, -1 as the file has; default 1", 2},
    {"encoding", KEY_ENCODING, "EXT", 0, ".jpg or .png; default .jpg", 2},
    {"pack-label", KEY_PACK_LABEL, NULL, 0, "Pack all labels of a line, not only the first", 2},
    {"skip-bad-images", KEY_SKIP_BAD, NULL, 0, "Name, leave out and count images that are bad", 2},
    {"keep-damaged", KEY_KEEP_DAMAGED, NULL, 0,
     "Take JPEG files that decode with a complaint, such as a truncated one", 2},
    {0},
};

/* Extensions up to the next option, as MXNet's tool takes them; commas separate them as well. */
static void parse_exts(struct im2rec_options *o, char *first, struct argp_state *state)
{
    o->num_exts = 0;
    for (char *arg = first; arg;) {
        for (char *ext = strtok(arg, ","); ext; ext = strtok(NULL, ",")) {
            const char **more = realloc(o->exts, (o->num_exts + 1) * sizeof *more);
            if (!more) argp_failure(state, CLI_FAILURE, 0, "no memory");
            o->exts = more;
            o->exts[o->num_exts++] = ext;
            if (*ext != '.') argp_error(state, "--exts: \"%s\" does not begin with a point", ext);
        }
        const int more = state->next < state->argc && state->argv[state->next][0] != '-';
        arg = more ? state->argv[state->next++] : NULL;
    }
}

static int parse_int(struct argp_state *state, const char *name, const char *arg, long low,
                     long high)
{
    char *end;
    const long value = strtol(arg, &end, 10);
    if (!*arg || *end || isspace((unsigned char)*arg) || value < low || value > high)
        argp_error(state, "--%s: \"%s\" is no number from %ld to %ld", name, arg, low, high);
    return (int)value;
}

static double parse_ratio(struct argp_state *state, const char *name, const char *arg)
{
    char *end;
    const double value = strtod(arg, &end);
    if (!*arg || *end || !(value >= 0 && value <= 1))
        argp_error(state, "--%s: \"%s\" is no number from 0 to 1", name, arg);
    return value;
}

static void check(const struct im2rec_options *o, struct argp_state *state)
{
    if (!o->root) argp_error(state, "PREFIX and ROOT are needed");
    /* Sums like 0.9 + 0.1 are a rounding above 1 in some orders. */
    if (o->train_ratio + o->test_ratio > 1 + 1e-9)
        argp_error(state, "--train-ratio (%g) and --test-ratio (%g) are more than 1 together",
                   o->train_ratio, o->test_ratio);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct im2rec_options *o = state->input;
    switch (key) {
    case KEY_LIST: o->list = 1; return 0;
    case KEY_EXTS: parse_exts(o, arg, state); return 0;
    case KEY_CHUNKS: o->chunks = parse_int(state, "chunks", arg, 1, 1000000); return 0;
    case KEY_TRAIN_RATIO: o->train_ratio = parse_ratio(state, "train-ratio", arg); return 0;
    case KEY_TEST_RATIO: o->test_ratio = parse_ratio(state, "test-ratio", arg); return 0;
    case KEY_RECURSIVE: o->recursive = 1; return 0;
    case KEY_NO_SHUFFLE: o->shuffle = 0; return 0;
    case KEY_PASS_THROUGH: o->pass_through = 1; return 0;
    case KEY_RESIZE: o->resize = parse_int(state, "resize", arg, 0, 65535); return 0;
    case KEY_CENTER_CROP: o->center_crop = 1; return 0;
    case KEY_QUALITY: o->quality = parse_int(state, "quality", arg, 0, 100); return 0;
    case KEY_NUM_THREAD: o->num_thread = parse_int(state, "num-thread", arg, 1, 1024); return 0;
    case KEY_COLOR: o->color = parse_int(state, "color", arg, -1, 1); return 0;
    case KEY_ENCODING:
        if (strcmp(arg, ".jpg") != 0 && strcmp(arg, ".png") != 0)
            argp_error(state, "--encoding: \"%s\" is neither .jpg nor .png", arg);
        o->encoding = strcmp(arg, ".png") == 0 ? CVP_IO_PNG : CVP_IO_JPEG;
        return 0;
    case KEY_PACK_LABEL: o->pack_label = 1; return 0;
    case KEY_SKIP_BAD: o->skip_bad = 1; return 0;
    case KEY_KEEP_DAMAGED: o->keep_damaged = 1; return 0;
    case ARGP_KEY_ARG:
        if (o->root) argp_error(state, "PREFIX and ROOT alone, not also \"%s\"", arg);
        if (o->prefix)
            o->root = arg;
        else
            o->prefix = arg;
        return 0;
    case ARGP_KEY_END: check(o, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "PREFIX ROOT",
    .doc = "Makes lists of images (PREFIX.lst, with --list), and of lists record files with their "
           "index (PREFIX.rec, PREFIX.idx). Options and files are those of MXNet's im2rec.py. "
           "Files appear when they are complete; those that were there stay until then.\v"
           "Examples:\n"
           "  convop im2rec --list --recursive --train-ratio 0.9 data/train photos\n"
           "  convop im2rec --resize 256 --num-thread 8 data/train photos\n\n"
           "Exit status: 0 done, 1 failed (a bad image without --skip-bad-images), 2 wrong usage.",
};

int cli_im2rec(int argc, char **argv)
{
    static const char *const exts[] = {".jpeg", ".jpg", ".png"};
    struct im2rec_options o = {
        .shuffle = 1,
        .chunks = 1,
        .train_ratio = 1,
        .quality = 95,
        .num_thread = 1,
        .color = 1,
        .encoding = CVP_IO_JPEG,
    };
    o.exts = malloc(sizeof exts);
    if (!o.exts) return cli_fail("im2rec: no memory");
    memcpy(o.exts, exts, sizeof exts);
    o.num_exts = sizeof exts / sizeof exts[0];
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o);
    int status = o.list ? im2rec_make_lists(&o) : im2rec_pack_lists(&o);
    free(o.exts);
    return status;
}
