/* The list of depthwise kernel tables, by instruction set and type; what rows ask before they
 * choose one. */

#include "src/common/isa_list.h"
#include "src/operator/convolution/cpu/depthwise.h"

#define DECLARE(ISA, isa)                                                                          \
    extern const struct cvp_dw_kernels cvp_dw_f32_##isa, cvp_dw_f64_##isa, cvp_dw_f16_##isa,       \
        cvp_dw_bf16_##isa;
CVP_EACH_ISA(DECLARE)

/* In the order of enum cvp_stored_type. */
#define ENTRY(ISA, isa)                                                                            \
    [CVP_ISA_##ISA] = {&cvp_dw_f32_##isa, &cvp_dw_f64_##isa, &cvp_dw_f16_##isa, &cvp_dw_bf16_##isa},
static const struct cvp_dw_kernels *const tables[CVP_ISA_VECTORS][CVP_STORED_COUNT] = {
    CVP_EACH_ISA(ENTRY)};

const struct cvp_dw_kernels *cvp_dw_kernels(const convop_conv_problem *p)
{
    return tables[cvp_isa_vectors(p->isa)][cvp_conv_stored_type(p)];
}

/* Of o outputs and k taps. A step that is not taken may be of any size. */
static int is_moderate(int64_t o, int64_t s, int64_t k, int64_t d, int64_t p)
{
    return (o == 1 || s <= CVP_DW_MAX_STEP) && (k == 1 || d <= CVP_DW_MAX_STEP) &&
           p <= CVP_DW_MAX_STEP;
}

int cvp_dw_takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (p->g != p->ic)
        return cvp_conv_refuse(why, "num_group is %lld, not the %lld channels of src",
                               (long long)p->g, (long long)p->ic);
    if (p->depthwise_conv_off) return cvp_conv_refuse(why, "depthwise_conv_off is set");
    if (!is_moderate(p->od, p->sd, p->kd, p->dd, p->pd) ||
        !is_moderate(p->oh, p->sh, p->kh, p->dh, p->ph) ||
        !is_moderate(p->ow, p->sw, p->kw, p->dw, p->pw))
        return cvp_conv_refuse(why, "a stride, dilation or pad is above %d", CVP_DW_MAX_STEP);
    /* Several sums that meet in an output would be rounded there each time. */
    const int is_sum = p->direction == CONVOP_BWD_D
                           ? p->oc > p->ic || (p->kd > 1 && !p->channels_last)
                       : p->direction == CONVOP_FWD ? p->kd > 1 && !p->channels_last
                                                    : 0;
    return is_sum ? cvp_conv_is_plain(p, why) : cvp_conv_is_dense(p, why);
}

int cvp_dw_fits(const convop_conv_problem *p, size_t bytes, char why[CONVOP_WHY_SIZE])
{
    if (bytes <= p->workspace_limit) return 1;
    return cvp_conv_refuse(why, "needs %zu bytes of workspace, the limit is %zu", bytes,
                           p->workspace_limit);
}
