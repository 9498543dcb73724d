/* Loops that find out what the machine gives. probe_kernels.c has them for each vector width. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct probe_kernels {
    /* `rounds` times 12 independent chains of fused multiply-adds; answers how many flops. */
    double (*fma[2])(int64_t rounds); /* float, double */
    /* Reads `bytes`, a multiple of 512. */
    void (*read)(const void *memory, size_t bytes);
};

/* Those of the widest vectors that this CPU has. */
const struct probe_kernels *probe_kernels(void);

#endif
