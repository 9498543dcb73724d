/* Prices times work. */
#include "src/operator/convolution/cpu/estimate.h"

#include "src/common/cpu.h"
#include "src/common/log.h"
#include "src/common/text.h"

/* Reading and writing what lies in no cache: about 30 GB/s for all threads together. */
#define MEMORY_NS_PER_BYTE 0.03

/* For bench/prices.py, which fits prices: what a row counts, and by which table. */
static void log_price(const void *table, double lanes, double ms, const double work[CONV_KINDS])
{
    char amounts[CONV_KINDS * 24];
    struct cvp_text t = cvp_text_in(amounts, sizeof amounts);
    for (int i = 0; i < CONV_KINDS; i++) cvp_text_add(&t, ",%.9g", work[i]);
    cvp_log(NULL, "price,Convolution,%p,%g,%.6g%s", table, lanes, ms, amounts);
}

double cvp_conv_price(const convop_conv_problem *p, const conv_prices prices,
                      const double work[CONV_KINDS], double tasks)
{
    const double *ns = prices[cvp_isa_vectors(p->isa)], bytes = cvp_conv_image_bytes(p);
    const double lanes = cvp_conv_most(1, cvp_conv_least(p->threads, tasks));
    double shared = 0;
    for (int i = 1; i < CONV_KINDS; i++) shared += ns[i] * work[i];
    double total = ns[0] * work[0] + shared / lanes;
    const double cached = (double)cvp_cpu()->l3;
    if (cached > 0 && bytes > cached) total += (bytes - cached) * MEMORY_NS_PER_BYTE;
    if (cvp_verbose(3)) log_price(ns, lanes, total * 1e-6, work);
    return total * 1e-6;
}

double cvp_conv_convert_price(const convop_conv_problem *p, double elements, double tasks)
{
    static const double ns[CVP_ISA_VECTORS] = {1, 0.3, 0.15};
    if (cvp_conv_is_wide(p)) return 0;
    return ns[cvp_isa_vectors(p->isa)] * 1e-6 * elements /
           cvp_conv_most(1, cvp_conv_least(p->threads, tasks));
}

double cvp_conv_vector(const convop_conv_problem *p)
{
    return (double)(16 << cvp_isa_vectors(p->isa)) / (double)cvp_conv_float_size(p);
}

double cvp_conv_image_bytes(const convop_conv_problem *p)
{
    const double src = (double)p->ic * (double)cvp_conv_src_pixels(p);
    const double dst = (double)p->oc * (double)cvp_conv_dst_pixels(p);
    return (double)p->mb * (src + dst) * (double)cvp_conv_element_size(p);
}
