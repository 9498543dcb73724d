/* The command line of `convop bench`: problems with their options, and what counts for the whole
 * run. */
#include <argp.h>
#include <string.h>

#include "tools/bench/bench.h"

enum { KEY_SWEEP = 512, KEY_STAGES, KEY_DEVICE, KEY_JSON };

static const struct argp_option options[] = {
    {"sweep", KEY_SWEEP, "KEY=VALUES", 0,
     "Run each problem with each value of a key (stride, kernel, dilate, pad, input, mb, ic, oc, "
     "g, threads), A..B, A..B:STEP or A,B,C; more than one sweep multiplies them",
     0},
    {"stages", KEY_STAGES, NULL, 0, "Say where the time of the fastest call went", 0},
    {"device", KEY_DEVICE, "DEVICE", 0,
     "Where the tensors are: cpu (default), or a GPU: cuda, cuda:NUMBER", 0},
    {"json", KEY_JSON, NULL, 0, "Write one JSON object a line", 0},
    {0},
};

#define MAX_SWEEPS 8

struct reader {
    struct bench_arguments *out;
    const char *sweeps[MAX_SWEEPS];
    int num_sweeps;
};

static void sweep(struct argp_state *state, struct reader *r)
{
    struct problem_error error;
    for (int i = 0; i < r->num_sweeps; i++) {
        if (!sweep_problems(&r->out->problems, r->sweeps[i], &error)) problems_stop(state, &error);
    }
}

/* Stages are those of timed calls. */
static void check_stages(struct argp_state *state, const struct reader *r)
{
    unsigned modes = 0;
    for (size_t i = 0; i < r->out->problems.count; i++)
        modes |= r->out->problems.at[i].settings.mode;
    if (r->out->stages && modes == MODE_CHECK)
        argp_error(state, "--stages: nothing is timed; say --mode=P or CP before the problems");
}

/* What is known of the CPU alone. */
static void check_device(struct argp_state *state, const struct reader *r)
{
    if (r->out->device.device_type != kDLCUDA) return;
    if (r->out->stages) argp_error(state, "--stages: stages are timed on the CPU alone");
    for (int i = 0; i < r->num_sweeps; i++)
        if (strncmp(r->sweeps[i], "threads=", 8) == 0)
            argp_error(state, "--sweep=%s: threads are the CPU's alone", r->sweeps[i]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct reader *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        for (int i = 0; i < 2; i++) state->child_inputs[i] = &r->out->problems;
        return 0;
    case KEY_SWEEP:
        if (r->num_sweeps == MAX_SWEEPS) argp_error(state, "more than %d sweeps", MAX_SWEEPS);
        r->sweeps[r->num_sweeps++] = arg;
        return 0;
    case KEY_STAGES: r->out->stages = 1; return 0;
    case KEY_DEVICE:
        if (!find_device(arg, &r->out->device))
            argp_error(state, "--device=%s: allowed are cpu, cuda, cuda:NUMBER", arg);
        return 0;
    case KEY_JSON: r->out->json = 1; return 0;
    case ARGP_KEY_END: /* the children have ended before */
        check_device(state, r);
        check_stages(state, r);
        sweep(state, r);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void bench_parse(int argc, char **argv, struct bench_arguments *arguments)
{
    static const struct argp_child children[] = {
        {&problems_argp, 0, NULL, 0}, {&problems_run_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .help_filter = problems_help_filter,
        .args_doc = "[DESCRIPTOR...]",
        .doc =
            "Checks and times convolutions, written as benchdnn writes them.\v"
            "Examples:\n"
            "  convop bench ic16ih7oc32kh3ph1\n"
            "  convop bench --mode=CP --dir=FWD_D,BWD_D,BWD_W --tag=nhwc \\\n"
            "      g32mb1ic32ih112oc32kh3sh2ph1n\"mbv1:dw2\"\n"
            "  convop bench --impl=all --dt=f64 --json mb1ic3iw100oc4kw5\n"
            "  convop bench --mode=P --batch=shapes_resnet_50 --match=kh3\n"
            "  convop bench --mode=CP --device=cuda --dt=f16 \\\n"
            "      mb128ic64ih56oc64kh3ph1\n"
            "  convop bench --mode=P --sweep=stride=1..4 --stages mb1ic3ih227oc96kh11\n\n"
            "A check compares with plain loops, on small integers whose sums are exact: the result "
            "must be equal, of 16-bit types the exact sum rounded once; a row with an error bound "
            "of its own is held to that. MS is the fastest call. The limit is the larger of flops "
            "by the measured peak and bytes by the measured "
            "bandwidth. --stages adds up the time of all threads; what its clock costs is in it. "
            "On a GPU a check copies the tensors there and back, MS is the fastest of many blocks "
            "of "
            "calls, timed by events, and the limit is a copy of as many bytes. "
            "Batch files' options that were left out are listed at the end; with --json, on "
            "stderr. "
            "Exit status: 1 if a check fails, no problem could run or the GPU is not here, 2 for "
            "wrong usage.",
    };
    problems_init(&arguments->problems);
    arguments->problems.takes_run = 1;
    arguments->device = (DLDevice){kDLCPU, 0};
    struct reader r = {.out = arguments};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r);
}
