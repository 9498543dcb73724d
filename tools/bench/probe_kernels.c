/* The loops of the probe, written once for any vector width.
 *
 * The chains start at different values: equal ones would be merged by the compiler, and the peak
 * that is found would be too high. */
#include "tools/bench/probe.h"

#include <string.h>

#include "convop/settings.h"

#define CHAINS 12
/* On every loop over the chains, or they live in memory. */
#define UNROLL _Pragma("GCC unroll 12")

/* Where results go, so that no loop is dropped. */
static _Thread_local volatile double sink;
static volatile double one_less = 0.999999, little = 1e-6;

#define PROBE_FMA(name, type, width, target)                                                       \
    target static double name(int64_t rounds)                                                      \
    {                                                                                              \
        typedef type vector __attribute__((vector_size(width)));                                   \
        vector x[CHAINS], a = (vector){0} + (type)one_less, b = (vector){0} + (type)little;        \
        UNROLL for (int i = 0; i < CHAINS; i++) x[i] = (vector){0} + (type)(i + 2);                \
        for (int64_t r = 0; r < rounds; r++) {                                                     \
            UNROLL for (int i = 0; i < CHAINS; i++) x[i] = x[i] * a + b;                           \
        }                                                                                          \
        vector sum = x[0];                                                                         \
        UNROLL for (int i = 1; i < CHAINS; i++) sum += x[i];                                       \
        sink = (double)sum[0];                                                                     \
        return 2.0 * CHAINS * (double)(width / sizeof(type)) * (double)rounds;                     \
    }

#define PROBE_READ(name, width, target)                                                            \
    target static void name(const void *memory, size_t bytes)                                      \
    {                                                                                              \
        typedef int64_t vector __attribute__((vector_size(width), may_alias));                     \
        const vector *v = memory;                                                                  \
        vector sum[4] = {{0}, {0}, {0}, {0}};                                                      \
        for (size_t i = 0; i < bytes / width; i += 4) {                                            \
            sum[0] ^= v[i];                                                                        \
            sum[1] ^= v[i + 1];                                                                    \
            sum[2] ^= v[i + 2];                                                                    \
            sum[3] ^= v[i + 3];                                                                    \
        }                                                                                          \
        sum[0] ^= sum[1] ^ sum[2] ^ sum[3];                                                        \
        sink = (double)sum[0][0];                                                                  \
    }

#define PROBE_KERNELS(name, width, target)                                                         \
    PROBE_FMA(name##_fma_f32, float, width, target)                                                \
    PROBE_FMA(name##_fma_f64, double, width, target)                                               \
    PROBE_READ(name##_read, width, target)                                                         \
    static const struct probe_kernels name = {{name##_fma_f32, name##_fma_f64}, name##_read};

PROBE_KERNELS(vector16, 16, )

#if defined(__x86_64__)
PROBE_KERNELS(vector32, 32, __attribute__((target("avx2,fma"))))
PROBE_KERNELS(vector64, 64, __attribute__((target("avx512f,fma"))))

/* 1 if the setting `isa` keeps the library from instructions above these. */
static int is_capped_at(const char *isa)
{
    convop_setting_info info = {.struct_size = sizeof info};
    for (size_t i = 0; convop_setting_at(i, &info) == CONVOP_OK; i++)
        if (strcmp(info.name, "isa") == 0) return strcmp(info.value, isa) == 0;
    return 0;
}
#endif

const struct probe_kernels *probe_kernels(void)
{
    const struct probe_kernels *kernels = &vector16;
#if defined(__x86_64__)
    if (is_capped_at("baseline")) return kernels;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) kernels = &vector32;
    if (__builtin_cpu_supports("avx512f") && !is_capped_at("avx2")) kernels = &vector64;
#endif
    return kernels;
}
