/* What it costs at least to compute a case. */
#include "tools/bench/bench.h"

double case_flops(const struct bench_case *c)
{
    const struct descriptor *p = &c->problem->descriptor;
    double products = (double)p->mb * (double)p->oc * (double)(p->ic / p->g);
    for (int i = 0; i < 3; i++) {
        const struct axis *a = &p->axis[i];
        double inside = 0; /* pairs of output and tap that meet the image; padding is free */
        for (int64_t k = 0; k < a->k; k++) {
            int64_t shift = k * (a->d + 1) - a->p; /* input is o * s + shift */
            int64_t low = shift >= 0 ? 0 : (-shift + a->s - 1) / a->s;
            int64_t high = a->i - 1 - shift < 0 ? -1 : (a->i - 1 - shift) / a->s;
            if (high > a->o - 1) high = a->o - 1;
            if (high >= low) inside += (double)(high - low + 1);
        }
        products *= inside;
    }
    return 2 * products;
}

double case_bytes(const struct bench_case *c)
{
    double bytes = 0;
    for (int i = 0; i < NUM_OPERANDS; i++) bytes += (double)c->tensor[i].bytes;
    return bytes;
}
