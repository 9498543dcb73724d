/* The rows `implicit`, by layout. */
#include "src/operator/convolution/cpu/implicit.h"

#include "src/common/size.h"

#define PIECE 64

void cvp_conv_implicit_pack_rows(const convop_conv_problem *p, cvp_gemm_pack *pack, char *panel,
                                 int64_t width, int64_t valid, int64_t k, const char *rows,
                                 int64_t pitch)
{
    const int64_t size = (int64_t)cvp_conv_element_size(p);
    for (int64_t at = 0; at < k; at += PIECE)
        pack(panel + at * width * size, (int)width, (int)valid, cvp_min_i64(PIECE, k - at),
             rows + at * size, pitch, 1);
}

static int applicable(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!cvp_conv_is_plain(p, why)) return 0;
    if (!p->channels_last) return cvp_conv_implicit_first_applicable(p, why);
    return cvp_conv_implicit_last_applicable(p, why);
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

extern const convop_conv_impl cvp_conv_implicit_fwd;
const convop_conv_impl cvp_conv_implicit_fwd = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "implicit",
    .direction = CONVOP_FWD,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .applicable = applicable,
    .workspace = workspace,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
    .estimate = cvp_conv_implicit_estimate,
};

extern const convop_conv_impl cvp_conv_implicit_bwd_d;
const convop_conv_impl cvp_conv_implicit_bwd_d = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "implicit",
    .direction = CONVOP_BWD_D,
    .version = 1,
    .level = CONVOP_LEVEL_BUILTIN,
    .applicable = applicable,
    .workspace = workspace,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .run = run,
    .estimate = cvp_conv_implicit_estimate,
};
