/* The list of kernel tables: instruction sets that this build has, by type. */
#include "src/operator/batch_norm/kernels.h"

#include "src/config.h"

#define DECLARE(isa) extern const struct bn_kernels cvp_bn_f32_##isa, cvp_bn_f64_##isa;
#define ENTRY(isa)                                                                                 \
    {                                                                                              \
        &cvp_bn_f32_##isa, &cvp_bn_f64_##isa                                                       \
    }

DECLARE(baseline)
#if CVP_BUILD_AVX2
DECLARE(avx2)
#endif
#if CVP_BUILD_AVX512
DECLARE(avx512)
#endif

static const struct bn_kernels *const tables[CVP_ISA_COUNT][2] = {
    [CVP_ISA_BASELINE] = ENTRY(baseline),
#if CVP_BUILD_AVX2
    [CVP_ISA_AVX2] = ENTRY(avx2),
#endif
#if CVP_BUILD_AVX512
    [CVP_ISA_AVX512] = ENTRY(avx512),
#endif
};

const struct bn_kernels *cvp_bn_kernels(int is_double, enum cvp_isa isa)
{
    /* A set that the CPU has and this build has not: the next lower one that it has. */
    int i = (int)isa;
    while (i > CVP_ISA_BASELINE && !tables[i][is_double]) i--;
    return tables[i][is_double];
}
