/* The list of kernel tables: instruction sets that this build has, by type. */
#include "src/operator/batch_norm/kernels.h"

#include "src/common/isa_list.h"

#define DECLARE(ISA, isa) extern const struct bn_kernels cvp_bn_f32_##isa, cvp_bn_f64_##isa;
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = {&cvp_bn_f32_##isa, &cvp_bn_f64_##isa},
static const struct bn_kernels *const tables[CVP_ISA_VECTORS][2] = {CVP_EACH_ISA(ENTRY)};

const struct bn_kernels *cvp_bn_kernels(int is_double, enum cvp_isa isa)
{
    return tables[cvp_isa_vectors(isa)][is_double];
}
