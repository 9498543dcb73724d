/* Outputs that are written past the caches. */
#ifndef CVP_CONV_STREAM_H
#define CVP_CONV_STREAM_H

#include "src/common/cpu.h"
#include "src/operator/convolution/cpu/ends.h"

/* Of an output larger than this, or than the third-level cache, nothing is left there for who reads
 * it; and the lines that it would be written to need not be read first. Below, caches take what is
 * written faster than memory does (docs/performance.md). */
#define CVP_CONV_STREAM_BYTES ((int64_t)48 << 20)

static inline int cvp_conv_streams(const convop_conv_problem *p)
{
    const int64_t l3 = cvp_cpu()->l3;
    const int64_t bytes = p->mb * cvp_conv_ends(p).out.image * (int64_t)cvp_conv_element_size(p);
    return bytes > CVP_CONV_STREAM_BYTES || (l3 > 0 && bytes > l3);
}

#endif
