/* A case's convolution: parameters as text and as struct, tensors, what must come out, and calls.
 */
#ifndef TESTS_CASES_CONV_H
#define TESTS_CASES_CONV_H

#include "convop/convop.h"
#include "tests/cases/json.h"
#include "tests/cases/tensor.h"

enum { DATA, WEIGHT, BIAS, OUT_GRAD, INPUTS };
enum { OUTPUT, DATA_GRAD, WEIGHT_GRAD, BIAS_GRAD, OUTPUTS };
#define CONV_MAX_PAIRS 12

struct conv {
    const struct test_case *c;
    size_t num_pairs;
    const char *keys[CONV_MAX_PAIRS], *values[CONV_MAX_PAIRS];
    char texts[CONV_MAX_PAIRS][128];
    convop_status parsed; /* what convop_params_parse answered */
    convop_conv_params params;

    int axes, channels_last, backward;
    int64_t n, ic, oc, g;
    int64_t i[3], o[3], k[3], s[3], d[3], p[3]; /* depth, height, width; 1 or 0 where absent */

    struct tensor in[INPUTS], out[OUTPUTS];
    int has_bias;                /* the case gives one */
    convop_request req[OUTPUTS]; /* NULL for those that the case does not ask for */
    double prefill[OUTPUTS];
    double *want[OUTPUTS], *magnitude[OUTPUTS]; /* from oracle_compute() */
};

extern const char *const conv_output_names[OUTPUTS];

/* Everything of the case. Outputs of a case that must be refused have the shape that the formula
 * gives, or the case. */
void conv_open(struct conv *v, const struct test_case *c, enum placement placement);
void conv_close(struct conv *v);

/* A copy of the case with members of params replaced or added, or inputs edited by `edit`;
 * derived_case_free() ends it. */
struct test_case derived_case(const struct test_case *c);
void derived_case_free(struct test_case *c);

/* Outputs as they must be before a call; every byte of every tensor is remembered. */
void conv_reset(struct conv *v);

/* One call as the case has it: forward, or backward with v->req. */
convop_status conv_call(struct conv *v, const convop_exec *exec);
/* The same by the operator's name with parameters as text; requests WRITE or v->req. */
convop_status conv_invoke(struct conv *v, const convop_exec *exec);
/* The same through an instance, made for this call; its weights constant or given with the run. */
convop_status conv_instance(struct conv *v, int packs_weights);

/* The rows of a direction for this problem, those that apply or not. */
size_t conv_rows(struct conv *v, convop_conv_direction direction, convop_conv_row *rows,
                 size_t room);
#define CONV_MAX_ROWS 32

/* Which direction computes an output. */
convop_conv_direction conv_direction(int output);

#endif
