/* What the parts of `convop bench` hand to each other. */
#ifndef BENCH_H
#define BENCH_H

#include <dlpack/dlpack.h>

#include "convop/convop.h"
#include "tools/bench/descriptor.h"

enum direction { FWD_B, FWD_D, FWD_I, BWD_D, BWD_W, BWD_WB, NUM_DIRECTIONS };
enum type { F32, F64, NUM_TYPES };
enum tag { NCHW, NHWC, NUM_TAGS };

const char *direction_name(enum direction direction);
const char *type_name(enum type type);
const char *tag_name(enum tag tag);

#define MODE_CHECK 1u
#define MODE_TIME  2u

/* Lists are as long as there are values, and hold none twice. */
struct choices {
    int count;
    int at[NUM_DIRECTIONS];
};

/* How the problems that follow are run. */
struct settings {
    struct choices directions, types, tags;
    unsigned mode;
    const char *impl; /* NULL: as the process is set; "all": each row that applies */
    int threads;      /* 0: as the process is set */
    int repeat;       /* 0: as min_time says */
    double min_time;  /* ms */
};

struct request {
    const char *text; /* the descriptor as it was given */
    struct descriptor problem;
    struct settings settings;
};

struct bench_arguments {
    struct request *requests;
    int count;
    int json;
};

/* Reads the command line. A wrong one ends the program with CLI_USAGE. The caller frees requests.
 */
void bench_parse(int argc, char **argv, struct bench_arguments *arguments);

/* ---- one case: a problem in one direction, type and layout --------------------------------- */

enum operand { SRC, WEI, BIA, DST, NUM_OPERANDS };

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
    size_t bytes;
    unsigned char *block;
};

struct bench_case {
    const struct descriptor *problem;
    const struct settings *settings;
    enum direction direction;
    enum type type;
    enum tag tag;
    struct tensor tensor[NUM_OPERANDS]; /* or gradients by them; BIA is empty where there is none */
    convop_conv_params params;
    convop_exec exec;
    int fill_top; /* the exact fill: values up to it, and which part of them is not 0 */
    double fill_density;
};

/* Allocates the tensors. CONVOP_OK, or a status with a sentence in why. */
convop_status case_create(struct bench_case *c, char *why, size_t size);
void case_destroy(struct bench_case *c);
int case_writes(const struct bench_case *c, enum operand operand);
int case_has_bias(const struct bench_case *c);

/* Small integers, such that every sum is exact in float32; outputs are NaN. */
void case_fill_exact(struct bench_case *c);
/* The value that it gives an input at this place in memory (an index of elements). */
double case_exact(const struct bench_case *c, enum operand operand, int64_t place);
/* Numbers in [-1, 1); outputs as they are. */
void case_fill_real(struct bench_case *c);

double case_flops(const struct bench_case *c); /* 2 for each product with an element of the image */
double case_bytes(const struct bench_case *c); /* each tensor once */

/* One call of the library. */
convop_status case_run(struct bench_case *c);

/* Rows of the direction; the chosen one's index, or -1. *count: in room, out how many there are. */
convop_status case_rows(const struct bench_case *c, convop_conv_row *rows, size_t *count,
                        int *chosen);

/* Compares all outputs with the reference. 1 if they agree; else 0 with a sentence. -1: no memory.
 * The inputs were those of case_fill_exact, and must still be. */
int case_check(const struct bench_case *c, char *why, size_t size);

/* Milliseconds of the fastest call, warm. */
convop_status case_time(struct bench_case *c, double *ms);

/* ---- limits -------------------------------------------------------------------------------- */

/* The time that no row can beat: flops at the measured peak, or bytes at the measured bandwidth.
 * ms is what a call took; a limit above it is measured again. */
double probe_limit_ms(enum type type, int threads, double flops, double bytes, double ms);

/* ---- report -------------------------------------------------------------------------------- */

struct result {
    enum { PASSED, FAILED, SKIPPED, TIMED } outcome; /* TIMED: not checked */
    char impl[64];                                   /* "" if nothing ran */
    double ms, gflops, limit_ms;                     /* 0: not measured */
    char why[512];                                   /* of FAILED and SKIPPED */
};

struct tally {
    int passed, failed, skipped, timed;
};

void report_begin(const struct bench_arguments *a);
void report_progress(const struct bench_arguments *a, int index, const char *what);
void report_result(const struct bench_arguments *a, int index, const struct bench_case *c,
                   const struct result *r);
void report_end(const struct bench_arguments *a, const struct tally *t);

#endif
