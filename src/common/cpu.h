/* What this CPU can do, and how far the setting "isa" lets us use it. Detected once. */
#ifndef CVP_COMMON_CPU_H
#define CVP_COMMON_CPU_H

#include "convop/base.h"

/* Each includes those before it, on its architecture. */
enum cvp_isa {
    CVP_ISA_BASELINE = 0, /* what the compiler assumes: SSE2 on x86-64, NEON on AArch64 */
    CVP_ISA_AVX2 = 1,     /* with FMA and F16C */
    CVP_ISA_AVX512 = 2,   /* F, BW, DQ, VL */
    CVP_ISA_COUNT
};

struct cvp_cpu {
    enum cvp_isa isa;    /* the highest that CPU and operating system allow */
    char name[64];       /* "Intel(R) Xeon(R) Processor" */
    int64_t l1d, l2, l3; /* bytes; 0 where unknown */
    int processors;      /* as affinity and the cgroup's quota allow, >= 1 */
};

/* Bytes of a line of the caches. */
#define CVP_CACHE_LINE 64

const struct cvp_cpu *cvp_cpu(void);
/* Bytes of the second-level cache, or 1 MiB where they are unknown. */
int64_t cvp_cpu_l2(void);
/* The processor that this thread runs on just now; -1 where that is unknown. */
int cvp_cpu_current(void);

const char *cvp_isa_name(enum cvp_isa isa);

/* The highest that the CPU has and that this library has kernels for. */
enum cvp_isa cvp_isa_best(void);

/* The instruction set to use: the best, capped by the setting.
 * INVALID if the setting does not parse or asks for more than the best. */
convop_status cvp_isa_in_use(enum cvp_isa *isa);

#endif
