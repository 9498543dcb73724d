/* What this CPU can do. Detected once, at first use; see cpu.h.
 * Source: Linux, Documentation/ABI/testing/sysfs-devices-system-cpu. */
#include "src/common/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/common/cgroup.h"
#include "src/common/file.h"

static struct cvp_cpu cpu; /* constant after `once` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
    cpu.isa = cvp_isa_detect();
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

int cvp_cpu_current(void)
{
    return sched_getcpu();
}
