/* Parallel passes over whole tensors with the kernels of a plan. */
#ifndef CVP_BN_SWEEP_H
#define CVP_BN_SWEEP_H

#include "convop/context.h"
#include "src/operator/batch_norm/plan.h"

struct bn_sweep {
    const struct bn_plan *plan;
    const convop_context *context;
    char *workspace;
    const void *x, *dy; /* x NULL: the gradient does not depend on it */
    void *out;
    int add;
};

/* The coefficients, BN_COEFS doubles a channel. */
static inline double *cvp_bn_coef(const struct bn_sweep *s)
{
    return (double *)(s->workspace + s->plan->coef_at);
}

/* The result of sums: values 0 (mean, or dy) and 1 (squares, or dy * (x - mean)) of a channel. */
static inline double cvp_bn_sum(const struct bn_sweep *s, int which, int64_t c)
{
    return ((const double *)(s->workspace + s->plan->sums_at))[which * s->plan->sums_step + c];
}

/* Of each channel of x: the mean, and the sum of the squares of the distances from it. */
void cvp_bn_sweep_moments(const struct bn_sweep *s);

/* Of each channel: the sums of dy and of dy * (x - mean); the mean is coefficient BN_DIFF_MEAN. */
void cvp_bn_sweep_products(const struct bn_sweep *s);

/* out = y by the coefficients; out = dx by the coefficients. */
void cvp_bn_sweep_scale(const struct bn_sweep *s);
void cvp_bn_sweep_diff(const struct bn_sweep *s);

/* Joins two sets' mean and sum of squares: m of n elements gets those of b of nb. Source: Chan,
 * Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
 * 1979. */
static inline void cvp_bn_join(double *mean, double *m2, double n, double b_mean, double b_m2,
                               double nb)
{
    double delta = b_mean - *mean, share = nb / (n + nb);
    *mean += delta * share;
    *m2 += b_m2 + delta * delta * (n * share);
}

#endif
