/* What this CPU can do. Detected once. */
#ifndef CVP_COMMON_CPU_H
#define CVP_COMMON_CPU_H

#include "src/common/isa.h"

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

#endif
