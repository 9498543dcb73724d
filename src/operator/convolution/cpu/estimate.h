/* How long a CPU row is expected to take: the amounts of work of several kinds that a problem is,
 * each at its price, shared among the threads; and the way to memory of what no cache holds.
 *
 * Prices are nanoseconds for one unit of work on one thread, by instruction set, fitted to
 * measurements of 98 problems (docs/performance.md says how). On another machine all of them shift
 * together, so that the order of rows stays; a measured choice (convop/tune.h) needs no price. */
#ifndef CVP_CONV_ESTIMATE_H
#define CVP_CONV_ESTIMATE_H

#include "src/common/cpu.h"
#include "src/operator/convolution/problem.h"

/* Kinds of work; the first is the call itself, which no thread takes off another. */
#define CONV_KINDS 10

/* Bytes that the first and the second level of caches are expected to keep of what is read again
 * and again. */
#define CONV_FIRST_LEVEL  (32 << 10)
#define CONV_SECOND_LEVEL ((double)cvp_cpu_l2() / 2)

typedef double conv_prices[CVP_ISA_VECTORS][CONV_KINDS];

/* Milliseconds. `tasks` is how many parts the row cuts the work into. */
double cvp_conv_price(const convop_conv_problem *p, const conv_prices prices,
                      const double work[CONV_KINDS], double tasks);

/* Milliseconds that `tasks` tasks take to convert elements of 16 bits; 0 where there are none. */
double cvp_conv_convert_price(const convop_conv_problem *p, double elements, double tasks);

/* Elements of a vector of the type that kernels compute in. */
double cvp_conv_vector(const convop_conv_problem *p);

/* Sizes as double: estimates need no exact numbers, and nothing overflows. Not those of libm, whose
 * first calls in a process cost more than an estimate. */
static inline double cvp_conv_least(double a, double b)
{
    return a < b ? a : b;
}
static inline double cvp_conv_most(double a, double b)
{
    return a > b ? a : b;
}

/* a / b rounded up. */
static inline double cvp_conv_parts(double a, double b)
{
    double q = a / b;
    if (q > 1e15) return q;
    double whole = (double)(int64_t)q;
    return whole < q ? whole + 1 : whole;
}

/* Bytes of src and dst. */
double cvp_conv_image_bytes(const convop_conv_problem *p);

#endif
