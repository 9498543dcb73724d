/* The list of kernel tables: instruction sets that this build has, by type. */
#include "src/operator/gemm/gemm_kernels.h"

#include "src/config.h"

#define DECLARE(isa)                                                                               \
    extern const struct cvp_gemm_kernels cvp_gemm_f32_##isa;                                       \
    extern const struct cvp_gemm_kernels cvp_gemm_f64_##isa;
#define ENTRY(isa)                                                                                 \
    {                                                                                              \
        &cvp_gemm_f32_##isa, &cvp_gemm_f64_##isa                                                   \
    }

DECLARE(baseline)
#if CVP_BUILD_AVX2
DECLARE(avx2)
#endif
#if CVP_BUILD_AVX512
DECLARE(avx512)
#endif

static const struct cvp_gemm_kernels *const tables[CVP_ISA_COUNT][CVP_FLOAT_COUNT] = {
    [CVP_ISA_BASELINE] = ENTRY(baseline),
#if CVP_BUILD_AVX2
    [CVP_ISA_AVX2] = ENTRY(avx2),
#endif
#if CVP_BUILD_AVX512
    [CVP_ISA_AVX512] = ENTRY(avx512),
#endif
};

const struct cvp_gemm_kernels *cvp_gemm_kernels(enum cvp_float type, enum cvp_isa isa)
{
    /* A set that the CPU has and this build has not: the next lower one that it has. */
    int i = (int)isa;
    while (i > CVP_ISA_BASELINE && !tables[i][type]) i--;
    return tables[i][type];
}
