/* What this machine gives at most, measured when first needed: flops a second, and bytes a second
 * out of a working set of a given size (caches count: problems are timed warm). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/bench.h"
#include "tools/bench/probe.h"

/* A measurement is the best of many short windows: neighbours take whole time slices, and what is
 * left between them shows what the machine can do. */
#define WINDOWS       20
#define WINDOW_MS     5.0
#define HEAD_START_MS 1.0 /* for all threads to have begun */

/* Work between two looks at the clock: some hundredths of a millisecond. */
#define FMA_ROUNDS 20000
#define READ_CHUNK ((size_t)1 << 20)

#define SMALLEST_SET 14 /* 2^14 = 16 KiB: a part of any first-level cache */
#define LARGEST_SET  28 /* 2^28 = 256 MiB: beyond any cache */

struct lane {
    int type; /* of the fma loop; -1: reads */
    unsigned char *memory;
    size_t bytes, at;
    double start;         /* when the first window begins, for all lanes */
    double done[WINDOWS]; /* out: flops or bytes in each */
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double work(struct lane *l)
{
    if (l->type >= 0) return probe_kernels()->fma[l->type](FMA_ROUNDS);
    double done = 0;
    while (done < (double)READ_CHUNK) {
        size_t chunk = l->bytes - l->at < READ_CHUNK ? l->bytes - l->at : READ_CHUNK;
        probe_kernels()->read(l->memory + l->at, chunk);
        l->at = (l->at + chunk) % l->bytes;
        done += (double)chunk;
    }
    return done;
}

/* Works before the first window too, so that the core's clock is up and the memory is warm. */
static void *run_lane(void *arg)
{
    struct lane *l = arg;
    for (;;) {
        double done = work(l), window = (now_ms() - l->start) / WINDOW_MS;
        if (window >= WINDOWS) return NULL;
        if (window >= 0) l->done[(int)window] += done;
    }
}

/* All lanes at once; a thread that cannot be had counts for nothing. */
static double run_lanes(struct lane *lanes, pthread_t *ids, int threads)
{
    double start = now_ms() + HEAD_START_MS, best = 0;
    int made = 1;
    for (int i = 0; i < threads; i++) lanes[i].start = start;
    while (made < threads && pthread_create(&ids[made], NULL, run_lane, &lanes[made]) == 0) made++;
    run_lane(&lanes[0]);
    for (int i = 1; i < made; i++) pthread_join(ids[i], NULL);
    for (int w = 0; w < WINDOWS; w++) {
        double sum = 0;
        for (int i = 0; i < made; i++) sum += lanes[i].done[w];
        if (sum > best) best = sum;
    }
    return best / WINDOW_MS;
}

/* Flops or bytes a millisecond; 0 if there is no memory. */
static double measure(int type, int threads, size_t bytes)
{
    struct lane *lanes = calloc((size_t)threads, sizeof *lanes);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    size_t part = bytes / (size_t)threads / 4096 * 4096 + 4096;
    double rate = 0;
    int ready = lanes && ids;
    for (int i = 0; ready && i < threads; i++) {
        lanes[i].type = type;
        lanes[i].bytes = part;
        if (type >= 0) continue;
        lanes[i].memory = aligned_alloc(4096, part);
        ready = lanes[i].memory != NULL;
        if (ready) memset(lanes[i].memory, 1, part);
    }
    if (ready) rate = run_lanes(lanes, ids, threads);
    for (int i = 0; lanes && i < threads; i++) free(lanes[i].memory);
    free(ids);
    free(lanes);
    return rate;
}

static double peak[2], bandwidth[LARGEST_SET + 1];

/* Measures where nothing is known yet, or again: the best counts. */
static void probe(enum type type, int set, int threads, int again)
{
    if (peak[type] == 0 || again) {
        double rate = measure((int)type, threads, 0);
        if (rate > peak[type]) peak[type] = rate;
    }
    if (bandwidth[set] == 0 || again) {
        double rate = measure(-1, threads, (size_t)1 << set);
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
