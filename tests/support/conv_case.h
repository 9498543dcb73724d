/* A random convolution: parameters, tensors, and what plain float64 loops say it must give. */
#ifndef TEST_CONV_CASE_H
#define TEST_CONV_CASE_H

#include "box.h"
#include "convop/convolution.h"

struct conv_case {
    uint64_t seed;
    convop_conv_params params;
    int axes, channels_last, bits, integers;
    int aligned; /* tensors begin where malloc's memory does, else up to 3 elements further */
    int64_t mb, ic, oc, g;
    int64_t i[3], o[3], k[3], s[3], d[3], p0[3],
        p1[3]; /* depth, height, width; 1 or 0 where absent */
    struct box src, weights, bias, dst;
    struct box diff_dst, diff_src, diff_weights, diff_bias;
    convop_request request; /* forward */
    convop_request requests[3];
    double error_bound[4]; /* of the rows that compute dst and diff_src; conv_case_find_bounds */
};

/* A problem that follows from the seed alone, small enough for plain loops; tensors are filled,
 * outputs are NaN, or numbers where they are added to. */
void conv_case_create(struct conv_case *c, uint64_t seed);
void conv_case_destroy(struct conv_case *c);

/* Fills a caller's own shape: axes, layout, bits, sizes and params must be set; all tensors dense.
 */
void conv_case_create_tensors(struct conv_case *c, struct rng *r, int gaps_percent);

/* The names of the rows that compute dst, diff_src and diff_weights, or, without_filter, of those
 * that compute the first two and are none for the third; at most `most` of them. The setting "impl"
 * must not name one. */
size_t conv_case_row_names(struct conv_case *c, int without_filter, const char **names,
                           size_t most);

/* Notes how far the rows that calls with `exec` would choose now may be off. */
void conv_case_find_bounds(struct conv_case *c, const convop_exec *exec);

/* One line that says what the problem is. */
void conv_case_print(const struct conv_case *c);

/* The oracle: what the outputs must be after the calls, given what they hold now; an array each in
 * logical row-major order, to be freed by conv_expected_free. `magnitude` is the sum of the
 * absolute values of the products, which scales the error bound of real numbers. `reach` scales
 * that of rows that have one of their own: the largest input times the largest sum of weights. */
struct conv_expected {
    double *value[4], *magnitude[4]; /* dst, diff_src, diff_weights, diff_bias */
    double reach[2];                 /* dst, diff_src */
};
void conv_case_expect(const struct conv_case *c, struct conv_expected *e);
double conv_case_reach(const struct conv_case *c, int output);
void conv_expected_free(struct conv_expected *e);

/* 1 if the output (0..3, as above) is as expected: exactly for integers, else within `eps` of the
 * magnitude; more by c->error_bound. Prints the first element that is not. */
int conv_case_matches(const struct conv_case *c, const struct conv_expected *e, int output);

/* The outputs by number. */
struct box *conv_case_output(struct conv_case *c, int output);

#endif
