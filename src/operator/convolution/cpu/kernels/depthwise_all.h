/* All depthwise kernels of one type and their table. No guard: included once for each type. */
#include "src/operator/convolution/cpu/kernels/vector.h"

/* Order: each uses what is above it. */
#include "src/operator/convolution/cpu/kernels/depthwise_window.h"
/**/
#include "src/operator/convolution/cpu/kernels/depthwise_first.h"
/**/
#include "src/operator/convolution/cpu/kernels/depthwise_last.h"
/**/
#include "src/operator/convolution/cpu/kernels/depthwise_filter_first.h"
#include "src/operator/convolution/cpu/kernels/depthwise_filter_last.h"

/* See cvp_dw_kernels.pack. */
static void NAME(pack)(const convop_conv_problem *p, const void *weights, void *packed,
                       int64_t begin, int64_t end)
{
    int backward = p->direction == CONVOP_BWD_D;
    int64_t taps = cvp_conv_taps(p), channels = backward ? p->ic : p->oc;
    int64_t of_each = backward ? p->oc / p->ic : 1;
    for (int64_t v = begin; v < end; v++)
        for (int64_t m = 0; m < of_each; m++) {
            SCALAR *to = (SCALAR *)packed + (v * of_each + m) * taps * LANES;
            for (int64_t l = 0; l < LANES; l++) {
                int64_t c = v * LANES + l;
                const SCALAR *from = (const SCALAR *)weights + (c * of_each + m) * taps;
                for (int64_t k = 0; k < taps; k++) to[k * LANES + l] = c < channels ? from[k] : 0;
            }
        }
}

extern const struct cvp_dw_kernels PASTE(NAME(cvp_dw), CVP_ISA_SUFFIX);
const struct cvp_dw_kernels PASTE(NAME(cvp_dw), CVP_ISA_SUFFIX) = {
    .lanes = LANES,
    .block_rows = ROWS,
    .first = NAME(first),
    .last = NAME(last),
    .pack = NAME(pack),
    .filter_first = NAME(filter_first),
    .filter_last = NAME(filter_last),
};

#undef VEC
#undef LOOSE
#undef IVEC
#undef MASK
