/* Instruction sets: which one the CPU has, and which one is in use. */
#ifndef CVP_COMMON_ISA_H
#define CVP_COMMON_ISA_H

#include "convop/base.h"

/* Each includes those before it, on its architecture. */
enum cvp_isa {
    CVP_ISA_BASELINE = 0, /* what the compiler assumes: SSE2 on x86-64, NEON on AArch64 */
    CVP_ISA_AVX2 = 1,     /* with FMA and F16C */
    CVP_ISA_AVX512 = 2,   /* F, BW, DQ, VL */
    CVP_ISA_AMX = 3,      /* AVX-512 with BF16, and tiles: AMX-TILE, AMX-BF16 */
    CVP_ISA_COUNT
};

/* Sets that differ in their vectors: amx has those of avx512. */
#define CVP_ISA_VECTORS (CVP_ISA_AVX512 + 1)

const char *cvp_isa_name(enum cvp_isa isa);

/* The highest that CPU and operating system know. cvp_cpu()->isa keeps it. */
enum cvp_isa cvp_isa_detect(void);

/* The highest that the CPU has and that this library is compiled for. */
enum cvp_isa cvp_isa_best(void);

/* The highest of the CVP_ISA_VECTORS sets that `isa` includes and this library is compiled for.
 * Most tables of kernels and all of prices have these alone. */
enum cvp_isa cvp_isa_vectors(int isa);

/* The instruction set to use: the best, capped by the setting. Where that is amx, Linux is asked
 * for the tiles, once in a process; if it refuses them, the set is what cvp_isa_vectors says.
 * INVALID if the setting does not parse or asks for more than there is. */
convop_status cvp_isa_in_use(enum cvp_isa *isa);

/* Why Linux refuses the tiles, an errno; 0 where it gives them. Asks if nobody has. */
int cvp_isa_tiles_refused(void);

#endif
