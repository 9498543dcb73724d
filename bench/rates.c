/* Says what the machine gives now: for each line "THREADS BYTES" on the input, GFLOPS of float32
 * multiply-adds and GB/s of reads from a working set of that size, all threads together. */
#include <stdio.h>

#include "tools/bench/probe.h"

int main(void)
{
    int threads;
    size_t bytes;
    while (scanf("%d %zu", &threads, &bytes) == 2 && threads > 0) {
        double flops = probe_flops(0, threads);
        printf("%.6g %.6g\n", flops * 1e-6, probe_read(threads, bytes) * 1e-6);
        fflush(stdout);
    }
    return 0;
}
