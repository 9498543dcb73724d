/* The list of kernel tables: instruction sets that this build has, by type. */
#include "src/operator/gemm/gemm_kernels.h"

#include "src/common/isa_list.h"

#define DECLARE(ISA, isa)                                                                          \
    extern const struct cvp_gemm_kernels cvp_gemm_f32_##isa, cvp_gemm_f64_##isa;
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = {&cvp_gemm_f32_##isa, &cvp_gemm_f64_##isa},
static const struct cvp_gemm_kernels *const tables[CVP_ISA_VECTORS][CVP_FLOAT_COUNT] = {
    CVP_EACH_ISA(ENTRY)};

const struct cvp_gemm_kernels *cvp_gemm_kernels(enum cvp_float type, enum cvp_isa isa)
{
    return tables[cvp_isa_vectors(isa)][type];
}
