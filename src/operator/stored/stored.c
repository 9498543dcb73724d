/* The list of kernels for stored elements. */
#include "src/operator/stored/stored.h"

#include "src/common/isa_list.h"

#define DECLARE(ISA, isa) extern const struct cvp_stored cvp_stored_##isa[CVP_STORED_COUNT];
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = cvp_stored_##isa,
static const struct cvp_stored *const tables[CVP_ISA_VECTORS] = {CVP_EACH_ISA(ENTRY)};

const struct cvp_stored *cvp_stored(enum cvp_stored_type type, enum cvp_isa isa)
{
    return &tables[cvp_isa_vectors(isa)][type];
}

static enum cvp_float float_of(enum cvp_stored_type type)
{
    return type == CVP_STORED_F64 ? CVP_F64 : CVP_F32;
}

cvp_gemm_pack *cvp_stored_pack_a(enum cvp_stored_type type, enum cvp_isa isa)
{
    cvp_gemm_pack *own = cvp_stored(type, isa)->pack_a;
    return own ? own : cvp_gemm_kernels(float_of(type), isa)->pack_a;
}

cvp_gemm_pack *cvp_stored_pack_b(enum cvp_stored_type type, enum cvp_isa isa)
{
    cvp_gemm_pack *own = cvp_stored(type, isa)->pack_b;
    return own ? own : cvp_gemm_kernels(float_of(type), isa)->pack_b;
}
