/* The rows `implicit`, by layout. */
#include "src/operator/convolution/cpu/implicit.h"

#include "src/operator/convolution/cpu/implicit_first.h"
#include "src/operator/convolution/cpu/implicit_last.h"

/* Either of them. */
union cut {
    struct implicit_first first;
    struct implicit_last last;
};

static int cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_dense(p, why)) return 0;
    if (!p->channels_last) return cvp_conv_implicit_first_cut(p, cut, why);
    return cvp_conv_implicit_last_cut(p, cut, why);
}

static size_t workspace(const convop_conv_problem *p)
{
    return p->channels_last ? cvp_conv_implicit_last_workspace(p)
                            : cvp_conv_implicit_first_workspace(p);
}

static size_t packed_bytes(const convop_conv_problem *p)
{
    return p->channels_last ? cvp_conv_implicit_last_packed_bytes(p)
                            : cvp_conv_implicit_first_packed_bytes(p);
}

static void pack(const convop_conv_problem *p, const void *weights, void *packed,
                 const convop_context *context)
{
    (p->channels_last ? cvp_conv_implicit_last_pack
                      : cvp_conv_implicit_first_pack)(p, weights, packed, context);
}

static convop_status run(const convop_conv_problem *p, const convop_conv_operands *t,
                         const convop_context *context, void *scratch)
{
    return (p->channels_last ? cvp_conv_implicit_last_run
                             : cvp_conv_implicit_first_run)(p, t, context, scratch);
}

static int fuses(const convop_conv_problem *p)
{
    return cvp_conv_is_wide(p);
}

#define IMPLICIT(row, dir)                                                                         \
    extern const convop_conv_impl row;                                                             \
    const convop_conv_impl row = {                                                                 \
        .struct_size = sizeof(convop_conv_impl),                                                   \
        .name = "implicit",                                                                        \
        .direction = dir,                                                                          \
        .version = 3,                                                                              \
        .level = CONVOP_LEVEL_BUILTIN,                                                             \
        .cut = cut,                                                                                \
        .cut_size = CONV_CUT_SIZE(union cut),                                                      \
        .workspace = workspace,                                                                    \
        .packed_bytes = packed_bytes,                                                              \
        .pack = pack,                                                                              \
        .run = run,                                                                                \
        .estimate = cvp_conv_implicit_estimate,                                                    \
        .fuses = fuses,                                                                            \
    }

IMPLICIT(cvp_conv_implicit_fwd, CONVOP_FWD);
IMPLICIT(cvp_conv_implicit_bwd_d, CONVOP_BWD_D);
