/* What a set of BatchNorm kernels consists of: one table for each instruction set and type, filled
 * in kernels/batch_norm_kernels.c. Sums are in double, whatever the type.
 *
 * Planes: the channel's elements lie in lines of n; rows: a row has one element of each channel.
 * `add`: the result is added to what is there. An output may be its input. */
#ifndef CVP_BN_KERNELS_H
#define CVP_BN_KERNELS_H

#include "src/common/cpu.h"

/* Of one channel: y = (x - mean) * scale + shift;
 * dx = by_dy * dy + by_x * (x - mean) + shift. */
enum { BN_MEAN, BN_SCALE, BN_SHIFT, BN_FORWARD_COEFS };
enum { BN_DIFF_MEAN, BN_BY_DY, BN_BY_X, BN_DIFF_SHIFT, BN_BACKWARD_COEFS };
#define BN_COEFS BN_BACKWARD_COEFS

struct bn_kernels {
    /* Lines of n elements, `step` elements apart. m: their mean, and the sum of the squares of the
     * distances from it. */
    void (*moments)(const void *x, int64_t lines, int64_t step, int64_t n, double m[2]);
    /* s[0] += dy, s[1] += dy * (x - mean). */
    void (*products)(const void *dy, const void *x, int64_t lines, int64_t step, int64_t n,
                     double mean, double s[2]);
    void (*scale)(void *y, const void *x, int64_t n, const double *coef, int add);
    /* x NULL: by_x counts as 0, and x is not read. */
    void (*diff)(void *dx, const void *dy, const void *x, int64_t n, const double *coef, int add);

    /* The same for all channels at once; mean, m2, s0, s1 have `channels` entries. */
    void (*moments_rows)(const void *x, int64_t rows, int64_t channels, double *mean, double *m2);
    void (*products_rows)(const void *dy, const void *x, int64_t rows, int64_t channels,
                          const double *mean, double *s0, double *s1);
    /* Tables of one entry an element, of the type, BN_COEFS times `period` entries: coefficient k
     * of element i is table[k * period + i % period]. */
    void (*fill_table)(void *table, int64_t period, int64_t channels, int coefs,
                       const double *coef);
    void (*scale_rows)(void *y, const void *x, int64_t n, int64_t period, const void *table,
                       int add);
    void (*diff_rows)(void *dx, const void *dy, const void *x, int64_t n, int64_t period,
                      const void *table, int add);
};

const struct bn_kernels *cvp_bn_kernels(int is_double, enum cvp_isa isa);

#endif
