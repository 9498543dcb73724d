/* What this machine gives at most, now: multiply-adds, and bytes out of a working set of a given
 * size. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/probe.h"

/* A measurement is the best of many short windows: neighbours take whole time slices, and what is
 * left between them shows what the machine can do. */
#define WINDOWS       20
#define WINDOW_MS     5.0
#define HEAD_START_MS 1.0 /* for all threads to have begun */

/* Work between two looks at the clock: some hundredths of a millisecond. */
#define FMA_ROUNDS 20000
#define READ_CHUNK ((size_t)1 << 20)

struct lane {
    const struct probe_kernels *kernels;
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
    if (l->type >= 0) return l->kernels->fma[l->type](FMA_ROUNDS);
    double done = 0;
    while (done < (double)READ_CHUNK) {
        size_t chunk = l->bytes - l->at < READ_CHUNK ? l->bytes - l->at : READ_CHUNK;
        l->kernels->read(l->memory + l->at, chunk);
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

/* 0 if there is no memory. */
static double measure(int type, int threads, size_t bytes)
{
    struct lane *lanes = calloc((size_t)threads, sizeof *lanes);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    size_t part = bytes / (size_t)threads / 4096 * 4096 + 4096;
    double rate = 0;
    int ready = lanes && ids;
    for (int i = 0; ready && i < threads; i++) {
        lanes[i].kernels = probe_kernels();
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

double probe_flops(int is_double, int threads)
{
    return measure(is_double, threads, 0);
}

double probe_read(int threads, size_t bytes)
{
    return measure(-1, threads, bytes);
}
