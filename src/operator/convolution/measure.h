/* Measuring the candidates of a problem, on memory of its own. */
#ifndef CVP_CONV_MEASURE_H
#define CVP_CONV_MEASURE_H

#include "src/operator/convolution/select.h"

struct conv_measuring {
    double budget_ms; /* for all rows; the most promising one is measured whatever it takes */
    int verify;       /* rows that differ from the most promising built-in one do not win */
};

/* Of one candidate. */
struct conv_result {
    double ms;                 /* 0: not measured: too far behind, or out of budget */
    char why[CONVOP_WHY_SIZE]; /* it cannot win: it failed, or differs; else "" */
    char *notes;               /* of the winner, by cvp_malloc, for the cache; NULL: it has none */
};

/* The fastest candidate, out of one or more. Without memory to measure in, or where none can win,
 * the status and sentence of the last failure, and *winner is NULL. results[] has room for all;
 * they are in the candidates' order. The plan needs no row. */
convop_status cvp_conv_measure(const struct conv_plan *plan, const struct conv_candidates *all,
                               const struct conv_measuring *how, struct conv_result results[],
                               const struct conv_candidate **winner);

/* The same on a GPU, which verifies nothing. */
convop_status cvp_conv_measure_gpu(const struct conv_plan *plan, const struct conv_candidates *all,
                                   const struct conv_measuring *how, struct conv_result results[],
                                   const struct conv_candidate **winner);

/* What the cache is to keep of it, its notes among it, which are the answer's then; 0: it cannot,
 * the row's name being too long. */
int cvp_conv_answer(const struct conv_candidates *all, const struct conv_result results[],
                    const struct conv_candidate *winner, struct cvp_tune_choice *answer);

/* For tests: the time is asked there; NULL: of the system. */
void cvp_conv_measure_clock(double (*now_ms)(void));

/* ---- the parts ------------------------------------------------------------------------------ */

/* Where the tensors of one set lie from its begin. */
struct conv_set_layout {
    size_t bytes, at[CONV_PLACES], size[CONV_PLACES]; /* size 0: the direction has no such one */
    enum conv_place out;                              /* what it computes */
};

/* UNSUPPORTED, with a sentence, where bytes overflow. */
convop_status cvp_conv_set_lay_out(struct conv_set_layout *layout, const struct conv_plan *plan,
                                   size_t alignment);

/* The operands of a set that begins there. */
convop_conv_operands cvp_conv_set_operands(const struct conv_set_layout *layout, char *set);

/* Tensors to measure with: `sets` equal sets, so many that a network's use of the caches is
 * imitated: together they exceed the second level twice, as far as CONV_SETS_BYTES and
 * CONV_SETS_MAX allow. Filled with finite values. */
#define CONV_SETS_MAX   16
#define CONV_SETS_BYTES ((size_t)256 << 20) /* of all sets, unless one is larger */

struct conv_sets {
    const convop_context *context;
    struct conv_set_layout each;
    char *memory;
    size_t bytes; /* of all */
    int sets;
};

/* Bytes from a tensor's first element to behind its last, in whole blocks; 0 if they overflow, or
 * if there is none. */
size_t cvp_conv_span(const struct conv_side *side, size_t element);

/* Finite values of the type; bytes is a whole number of blocks of 4096 elements. */
void cvp_conv_fill(const convop_context *context, DLDataType dtype, void *to, size_t bytes,
                   uint64_t seed);

/* As cvp_conv_set_lay_out; NO_MEMORY, with no sentence, where there is none for even one set. */
convop_status cvp_conv_sets_make(struct conv_sets *s, const struct conv_plan *plan);
void cvp_conv_sets_free(struct conv_sets *s);

/* The operands of one set. */
convop_conv_operands cvp_conv_sets_operands(const struct conv_sets *s, int set);

/* Fills what set 0 computes into anew, as all of them were filled. */
void cvp_conv_sets_refill(const struct conv_sets *s, const struct conv_plan *plan);

/* One candidate, ready to run in each set: with constant weights each set has its own packed form.
 */
struct conv_runner {
    const struct conv_sets *sets;
    struct conv_plan base;   /* the row is taken */
    struct conv_plan *plans; /* copies of it, with weights of their own where those are prepared */
    int num_plans, next;     /* the set of the next run */
    void *workspace;
    size_t workspace_bytes;
    int runs; /* so far */
};

/* NO_MEMORY, INTERNAL (it asks for too much workspace). */
convop_status cvp_conv_runner_make(struct conv_runner *r, const struct conv_sets *s,
                                   const struct conv_plan *plan,
                                   const struct conv_candidate *candidate);
void cvp_conv_runner_free(struct conv_runner *r);
convop_status cvp_conv_runner_run(struct conv_runner *r);

/* The row's time, or its failure: warmed up, then the least of samples until that has not fallen by
 * more than a hundredth for 5 samples. A row that is far behind `best` (0: there is none) is not
 * repeated; at `deadline` its best sample so far counts. In either case there is one more run if
 * the first took far longer than `expected` (0: unknown). */
convop_status cvp_conv_runner_time(struct conv_runner *r, double expected, double best,
                                   double deadline, double *ms);

/* What cvp_conv_measure_clock says. */
double cvp_conv_measure_now(void);

/* ---- comparing results ---------------------------------------------------------------------- */

/* 1 if what two rows computed for the plan's problem agrees, as far as sums in another order may
 * differ; else why[] says where not. Both arrays are `bytes` long. */
int cvp_conv_results_agree(const struct conv_plan *plan, const void *one, const void *other,
                           size_t bytes, const char *name, char why[CONVOP_WHY_SIZE]);

#endif
