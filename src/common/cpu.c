/* What this CPU can do. Detected once, at first use; see cpu.h.
 * Sources: Intel SDM volume 1, chapters 14 and 15 (which CPUID and XCR0 bits make AVX2 and
 * AVX-512 usable); Linux, Documentation/ABI/testing/sysfs-devices-system-cpu. */
#include "src/common/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "src/common/alloc.h"
#include "src/common/cgroup.h"
#include "src/common/file.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/config.h"

static struct cvp_cpu cpu; /* constant after `once` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
/* Which register states the operating system saves: bits of XCR0. */
static unsigned xcr0(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static enum cvp_isa detect_isa(void)
{
    const unsigned ymm = 0x6, zmm = 0xe6;
    const unsigned fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
    const unsigned avx2 = 1u << 5, f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
    const unsigned need1 = fma | osxsave | avx | f16c, need512 = f | dq | bw | vl;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & need1) != need1) return CVP_ISA_BASELINE;
    unsigned saved = xcr0();
    if ((saved & ymm) != ymm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & avx2))
        return CVP_ISA_BASELINE;
    return (saved & zmm) == zmm && (b & need512) == need512 ? CVP_ISA_AVX512 : CVP_ISA_AVX2;
}
#else
static enum cvp_isa detect_isa(void)
{
    return CVP_ISA_BASELINE;
}
#endif

static void detect_name(void)
{
    char text[2048];
    const char *name = NULL;
    if (cvp_file_text("/proc/cpuinfo", text, sizeof(text)) > 0) {
        char *at = strstr(text, "model name");
        if (at != NULL) at = strchr(at, ':');
        if (at != NULL) {
            at += 1 + strspn(at + 1, " \t");
            at[strcspn(at, "\n")] = '\0';
            name = at;
        }
    }
    snprintf(cpu.name, sizeof(cpu.name), "%s", name != NULL && name[0] != '\0' ? name : "unknown");
}

/* Processors in this thread's affinity mask; 0 where the system will not say. A mask may be larger
 * than cpu_set_t: the call then asks for more room. */
static int affinity(void)
{
    int count = 0;
    for (int room = 1024; room <= 1 << 20 && count == 0; room *= 4) {
        size_t size = CPU_ALLOC_SIZE(room);
        cpu_set_t *set = cvp_calloc(1, size);
        if (set == NULL) return 0;
        int failed = sched_getaffinity(0, size, set);
        int too_small = failed && errno == EINVAL;
        if (!failed) count = CPU_COUNT_S(size, set);
        cvp_free(set);
        if (failed && !too_small) break;
    }
    return count;
}

static int detect_processors(void)
{
    int count = affinity();
    if (count < 1) count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct cvp_cgroup cgroup;
    cvp_cgroup_read("", &cgroup);
    if (cgroup.cpus > 0 && cgroup.cpus < count) count = cgroup.cpus;
    return count > 0 ? count : 1;
}

/* Bytes of the data cache of that level, from sysfs; 0 if it does not say. */
static int64_t cache_size(int level)
{
    for (int i = 0; i < 8; i++) {
        char path[96], text[32], *unit;
        const char *const format = "/sys/devices/system/cpu/cpu0/cache/index%d/%s";
        snprintf(path, sizeof(path), format, i, "level");
        if (cvp_file_text(path, text, sizeof(text)) == 0 || atoi(text) != level) continue;
        snprintf(path, sizeof(path), format, i, "type");
        if (cvp_file_text(path, text, sizeof(text)) == 0 || text[0] == 'I') continue;
        snprintf(path, sizeof(path), format, i, "size");
        if (cvp_file_text(path, text, sizeof(text)) == 0) continue;
        int64_t size = strtoll(text, &unit, 10);
        if (size <= 0 || size > (int64_t)1 << 30) return 0;
        return *unit == 'K' ? size << 10 : *unit == 'M' ? size << 20 : size;
    }
    return 0;
}

static int64_t cache_size_or(int level, int name)
{
    int64_t size = cache_size(level);
    if (size == 0 && name >= 0) size = sysconf(name);
    return size > 0 ? size : 0;
}

static void detect(void)
{
    cpu.isa = detect_isa();
    detect_name();
    cpu.processors = detect_processors();
#ifdef _SC_LEVEL1_DCACHE_SIZE
    cpu.l1d = cache_size_or(1, _SC_LEVEL1_DCACHE_SIZE);
    cpu.l2 = cache_size_or(2, _SC_LEVEL2_CACHE_SIZE);
    cpu.l3 = cache_size_or(3, _SC_LEVEL3_CACHE_SIZE);
#else
    cpu.l1d = cache_size_or(1, -1);
    cpu.l2 = cache_size_or(2, -1);
    cpu.l3 = cache_size_or(3, -1);
#endif
}

const struct cvp_cpu *cvp_cpu(void)
{
    pthread_once(&once, detect);
    return &cpu;
}

int64_t cvp_cpu_l2(void)
{
    const int64_t l2 = cvp_cpu()->l2;
    return l2 > 0 ? l2 : (int64_t)1 << 20;
}

const char *cvp_isa_name(enum cvp_isa isa)
{
    switch (isa) {
    case CVP_ISA_BASELINE: return "baseline";
    case CVP_ISA_AVX2: return "avx2";
    case CVP_ISA_AVX512: return "avx512";
    case CVP_ISA_COUNT: break;
    }
    return "unknown";
}

/* Kernels of this set are in the library. */
static int is_built(enum cvp_isa isa)
{
    return isa == CVP_ISA_AVX512 ? CVP_BUILD_AVX512 : isa == CVP_ISA_AVX2 ? CVP_BUILD_AVX2 : 1;
}

enum cvp_isa cvp_isa_best(void)
{
    enum cvp_isa best = cvp_cpu()->isa;
    while (!is_built(best)) best--;
    return best;
}

int cvp_cpu_current(void)
{
    return sched_getcpu();
}

convop_status cvp_isa_in_use(enum cvp_isa *isa)
{
    int asked;
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_ISA, &asked));
    const enum cvp_isa best = cvp_isa_best();
    if (asked == CVP_ISA_AUTO) {
        *isa = best;
        return CONVOP_OK;
    }
#if defined(__aarch64__)
    if (asked == CVP_ISA_NEON) asked = CVP_ISA_BASELINE;
#endif
    if (asked > (int)best) {
        const char *name = asked == CVP_ISA_NEON ? "neon" : cvp_isa_name((enum cvp_isa)asked);
        return convop_fail(
            CONVOP_E_INVALID, "setting isa (CONVOP_ISA): %s was asked for, this %s has %s at most",
            name, asked > (int)cvp_cpu()->isa ? "CPU" : "library", cvp_isa_name(best));
    }
    *isa = (enum cvp_isa)asked;
    return CONVOP_OK;
}
