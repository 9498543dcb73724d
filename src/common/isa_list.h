/* The instruction sets that this build has kernels for, as a list for X(ISA, isa): for tables of
 * kernels that are compiled once for each, CVP_ISA_VECTORS entries that cvp_isa_vectors() finds.
 * amx is no part of it: rows that have kernels for it name it themselves, where CVP_BUILD_AMX is 1.
 */
#ifndef CVP_COMMON_ISA_LIST_H
#define CVP_COMMON_ISA_LIST_H

#include "src/config.h"

#if CVP_BUILD_AVX2
#define CVP_LIST_AVX2(X) X(AVX2, avx2)
#else
#define CVP_LIST_AVX2(X)
#endif
#if CVP_BUILD_AVX512
#define CVP_LIST_AVX512(X) X(AVX512, avx512)
#else
#define CVP_LIST_AVX512(X)
#endif
#define CVP_EACH_ISA(X) X(BASELINE, baseline) CVP_LIST_AVX2(X) CVP_LIST_AVX512(X)

#endif
