/* What the parts of `convop bench` hand to each other. */
#ifndef BENCH_H
#define BENCH_H

#include "convop/convop.h"
#include "tools/problems/problems.h"
#include "tools/problems/query.h"

struct bench_arguments {
    struct problem_list problems;
    int json, stages;
    DLDevice device; /* where the tensors are: the CPU or a GPU */
};

/* Reads the command line. A wrong one ends the program with CLI_USAGE. */
void bench_parse(int argc, char **argv, struct bench_arguments *arguments);

/* ---- sweeps -------------------------------------------------------------------------------- */

/* KEY=A..B[:STEP] or KEY=a,b,c: each problem with each value of the key. 1, or 0 with *error. */
int sweep_problems(struct problem_list *list, const char *text, struct problem_error *error);

/* ---- 16-bit floats ------------------------------------------------------------------------- */

/* To the nearest, ties to even; the judge's own, so that it shares nothing with the library. */
uint16_t half_bits(enum type type, double value);
double half_value(enum type type, uint16_t bits);

/* ---- one case: a problem in one direction, type and layout --------------------------------- */

enum operand { SRC, WEI, BIA, DST, ADDEND, NUM_OPERANDS };

/* Bytes before and behind a tensor that must stay as they are. */
#define GUARD      64
#define GUARD_BYTE 0xa5

/* A tensor between two guards. shape is (a, b, spatial...) whatever the layout: mb, ic or oc,
 * sizes; or oc, ic / g, kernel. */
struct tensor {
    DLTensor view;
    int64_t view_shape[5];
    int64_t shape[5], stride[5]; /* stride in elements, for `shape` */
    int ndim;
    int64_t elements;
    size_t bytes, block_bytes;
    unsigned char *block; /* of the CPU; with the guards */
    void *on_gpu;         /* the same block there, which is the one that view is of; or NULL */
};

struct bench_case {
    const struct problem *problem;
    DLDevice device;
    enum direction direction;
    enum type type;
    enum tag tag;
    struct tensor tensor[NUM_OPERANDS]; /* or gradients by them; empty where there is none */
    struct query query;
    convop_exec exec;
    convop_instance *instance; /* prepared, for the settings and weights as they are; or NULL */
    double error_bound;        /* of the row that runs (convop_conv_row) */
    int fill_top; /* the exact fill: values up to it, and which part of them is not 0 */
    double fill_density;
};

/* Allocates the tensors. CONVOP_OK, or a status with a sentence in why. */
convop_status case_create(struct bench_case *c, char *why, size_t size);
void case_destroy(struct bench_case *c);
int case_writes(const struct bench_case *c, enum operand operand);
int case_reads(const struct bench_case *c, enum operand operand);
int case_has_bias(const struct bench_case *c);

/* Elements by their place in memory. */
double case_get(const struct bench_case *c, const struct tensor *t, int64_t place);

/* Small integers, such that every sum is exact in float32; outputs are NaN. */
void case_fill_exact(struct bench_case *c);
/* The value that it gives an input at this place in memory (an index of elements). */
double case_exact(const struct bench_case *c, enum operand operand, int64_t place);
/* Numbers in [-1, 1); outputs as they are. */
void case_fill_real(struct bench_case *c);

double case_flops(const struct bench_case *c); /* 2 for each product with an element of the image */
double case_bytes(const struct bench_case *c); /* each tensor once */

/* Before case_run, where the problem asks for a prepared instance: weights are packed as they are
 * now. */
convop_status case_prepare(struct bench_case *c);

/* One call of the library. */
convop_status case_run(struct bench_case *c);

/* Rows of the direction; the chosen one's index, or -1. *count: in room, out how many there are. */
convop_status case_rows(const struct bench_case *c, convop_conv_row *rows, size_t *count,
                        int *chosen);

/* Compares all outputs with the reference. 1 if they agree, as far as c->error_bound allows; else 0
 * with a sentence. -1: no memory. The inputs were those of case_fill_exact, and must still be. */
int case_check(const struct bench_case *c, char *why, size_t size);

/* Times of calls, warm. */
struct times {
    double ms, median_ms; /* of the fastest */
    /* Of the fastest call, where asked for; ms of all threads. */
    convop_stage_time stages[CONVOP_STAGE_COUNT];
};
convop_status case_time(struct bench_case *c, int with_stages, struct times *times);

/* ---- on a GPU (gpu.h is open) ---------------------------------------------------------------- */

int case_is_on_gpu(const struct bench_case *c);

/* The end of case_create: tensors on the GPU. */
convop_status case_place(struct bench_case *c);
void case_take_away(struct bench_case *c);

/* All tensors, to the GPU and back. Where they are on the CPU, nothing. */
convop_status case_send(struct bench_case *c);
convop_status case_fetch(struct bench_case *c);

/* How many calls a block has that is long enough for events, where one takes so long. */
int calls_of_block(double ms);
/* The time of a call, one of so many that are enqueued one after the other. */
convop_status case_time_block(struct bench_case *c, int calls, double *ms);

/* The time of a copy that moves so many bytes, half of them read and half written; 0: the GPU has
 * no memory for it. */
double copy_limit_ms(double bytes);

/* ---- limits -------------------------------------------------------------------------------- */

/* The time that no row can beat: flops at the measured peak, or bytes at the measured bandwidth.
 * ms is what a call took; a limit above it is measured again. */
double probe_limit_ms(enum type type, int threads, double flops, double bytes, double ms);

/* ---- report -------------------------------------------------------------------------------- */

enum outcome { PASSED, FAILED, SKIPPED, TIMED, NUM_OUTCOMES }; /* TIMED: not checked */

struct result {
    enum outcome outcome;
    char impl[64];           /* "" if nothing ran */
    int choice;              /* convop_conv_choice of that row */
    int threads;             /* 0: not known */
    struct times times;      /* ms 0: not measured */
    double gflops, limit_ms; /* 0: not measured */
    char why[512];           /* of FAILED and SKIPPED */
};

void report_begin(const struct bench_arguments *a);
void report_progress(const struct bench_arguments *a, size_t index, const char *what);
void report_result(const struct bench_arguments *a, size_t index, const struct bench_case *c,
                   const struct result *r);
void report_end(const struct bench_arguments *a, const int tally[NUM_OUTCOMES]);

/* The name of a problem, or its descriptor; with control characters replaced. */
void report_label(const struct problem *p, char *text, size_t size);

/* "-" where a batch file asks for none that convop has. */
const char *report_type(const struct bench_case *c);
const char *report_tag(const struct bench_case *c);

/* One object a line. */
void report_json(const struct bench_arguments *a, const struct bench_case *c,
                 const struct result *r);

/* The command that repeats a case, and a newline. */
void repeat_command(FILE *out, const struct bench_case *c, const struct result *r);

const char *outcome_name(enum outcome outcome);

#endif
