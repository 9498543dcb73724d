/* The time that no row can beat: flops at the peak or bytes at the bandwidth, each measured when it
 * is first needed (caches count: problems are timed warm). */
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/probe.h"

#define SMALLEST_SET 14 /* 2^14 = 16 KiB: a part of any first-level cache */
#define LARGEST_SET  28 /* 2^28 = 256 MiB: beyond any cache */

static double peak[2], bandwidth[LARGEST_SET + 1];

/* Measures where nothing is known yet, or again: the best counts. */
static void probe(enum type type, int set, int threads, int again)
{
    if (peak[type] == 0 || again) {
        double rate = probe_flops(type == F64, threads);
        if (rate > peak[type]) peak[type] = rate;
    }
    if (bandwidth[set] == 0 || again) {
        double rate = probe_read(threads, (size_t)1 << set);
        if (rate > bandwidth[set]) bandwidth[set] = rate;
    }
}

static double limit(enum type type, int set, double flops, double bytes)
{
    double compute = peak[type] > 0 ? flops / peak[type] : 0;
    double memory = bandwidth[set] > 0 ? bytes / bandwidth[set] : 0;
    return compute > memory ? compute : memory;
}

double probe_limit_ms(enum type stored, int threads, double flops, double bytes, double ms)
{
    const enum type type = stored == F64 ? F64 : F32; /* 16-bit types are computed in float32 */
    static int measured_threads;
    if (threads != measured_threads) {
        memset(peak, 0, sizeof peak);
        memset(bandwidth, 0, sizeof bandwidth);
        measured_threads = threads;
    }
    int set = SMALLEST_SET;
    while (set < LARGEST_SET && (double)((size_t)1 << set) < bytes) set++;
    probe(type, set, threads, 0);
    /* A limit that was beaten is none: the probe ran beside busy neighbours. */
    if (limit(type, set, flops, bytes) > ms) probe(type, set, threads, 1);
    /* The call has read and written its tensors: that is a measurement too. (Its flops are not one:
     * a row may compute with fewer.) */
    if (ms > 0 && bytes / ms > bandwidth[set]) bandwidth[set] = bytes / ms;
    return limit(type, set, flops, bytes);
}
