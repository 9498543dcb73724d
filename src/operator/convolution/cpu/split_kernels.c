/* The kernels for tiles, where this build and this CPU have them, and what they are for. */
#include "src/operator/convolution/cpu/split_kernels.h"

#include <stddef.h>

#include "src/common/isa.h"
#include "src/common/size.h"
#include "src/config.h"
#include "src/operator/convolution/cpu/split.h"

#if CVP_BUILD_AMX
extern const struct cvp_split_kernels cvp_split_amx;
#endif

const struct cvp_split_kernels *cvp_split_kernels(int isa)
{
#if CVP_BUILD_AMX
    if (isa == CVP_ISA_AMX) return &cvp_split_amx;
#endif
    (void)isa;
    return NULL;
}

int cvp_conv_split_takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const int64_t c = cvp_min_i64(p->ic, p->oc) / p->g, taps = cvp_conv_taps(p);
    if (!cvp_split_kernels(p->isa)) return cvp_conv_refuse(why, "it needs the instruction set amx");
    if (cvp_conv_element_size(p) != sizeof(float))
        return cvp_conv_refuse(why, "it computes in float32");
    if (c < SPLIT_MIN_CHANNELS)
        return cvp_conv_refuse(why, "a group has %lld channels, it takes at least %d", (long long)c,
                               SPLIT_MIN_CHANNELS);
    if (taps > SPLIT_MAX_TAPS)
        return cvp_conv_refuse(why, "the window has %lld places, it takes up to %d",
                               (long long)taps, SPLIT_MAX_TAPS);
    if (p->sw > SPLIT_MAX_ALONG)
        return cvp_conv_refuse(why, "the stride is %lld, it takes up to %d", (long long)p->sw,
                               SPLIT_MAX_ALONG);
    return 1;
}
