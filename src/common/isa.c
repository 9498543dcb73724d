/* Instruction sets: see isa.h.
 * Sources: Intel SDM volume 1, chapters 14, 15 and 18, and volume 2, CPUID (which CPUID and XCR0
 * bits make AVX2, AVX-512 and AMX usable); Linux, Documentation/arch/x86/xstate.rst (a process has
 * the state of the tiles, 8 KiB, only if it asks; it is refused where a thread has a signal stack
 * that does not hold a frame with them). */
#include "src/common/isa.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "src/common/cpu.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/config.h"

#if defined(__x86_64__)
/* Which register states the operating system saves: bits of XCR0. */
static unsigned xcr0(void)
{
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Of a CPU with AVX-512. */
static int has_amx(void)
{
    const unsigned tile_states = 3u << 17;
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24, avx512_bf16 = 1u << 5;
    const unsigned need = amx_bf16 | amx_tile;
    unsigned a, b, c, d;
    return (xcr0() & tile_states) == tile_states && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & need) == need && a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a & avx512_bf16);
}

enum cvp_isa cvp_isa_detect(void)
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
    if ((saved & zmm) != zmm || (b & need512) != need512) return CVP_ISA_AVX2;
    return has_amx() ? CVP_ISA_AMX : CVP_ISA_AVX512;
}
#else
enum cvp_isa cvp_isa_detect(void)
{
    return CVP_ISA_BASELINE;
}
#endif

static int tiles_refused; /* constant after `tiles_once` */
static pthread_once_t tiles_once = PTHREAD_ONCE_INIT;

/* For the whole process, and those that it forks. */
static void ask_for_tiles(void)
{
#if defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* asm/prctl.h, since 5.16 */
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) != 0)
        tiles_refused = errno;
#else
    tiles_refused = ENOSYS;
#endif
}

int cvp_isa_tiles_refused(void)
{
    pthread_once(&tiles_once, ask_for_tiles);
    return tiles_refused;
}

const char *cvp_isa_name(enum cvp_isa isa)
{
    switch (isa) {
    case CVP_ISA_BASELINE: return "baseline";
    case CVP_ISA_AVX2: return "avx2";
    case CVP_ISA_AVX512: return "avx512";
    case CVP_ISA_AMX: return "amx";
    case CVP_ISA_COUNT: break;
    }
    return "unknown";
}

static enum cvp_isa highest_built(enum cvp_isa isa)
{
    static const int is_built[CVP_ISA_COUNT] = {1, CVP_BUILD_AVX2, CVP_BUILD_AVX512, CVP_BUILD_AMX};
    while (!is_built[isa]) isa--;
    return isa;
}

enum cvp_isa cvp_isa_best(void)
{
    return highest_built(cvp_cpu()->isa);
}

enum cvp_isa cvp_isa_vectors(int isa)
{
    return highest_built(isa < CVP_ISA_VECTORS ? (enum cvp_isa)isa : CVP_ISA_VECTORS - 1);
}

_Static_assert((int)CVP_ISA_NEON == CVP_ISA_COUNT, "the setting's last value");

convop_status cvp_isa_in_use(enum cvp_isa *isa)
{
    int asked;
    CVP_RETURN_IF_ERROR(cvp_setting_int(CVP_SETTING_ISA, &asked));
    const enum cvp_isa best = cvp_isa_best();
    if (asked == CVP_ISA_AUTO) {
        *isa = best == CVP_ISA_AMX && cvp_isa_tiles_refused() ? cvp_isa_vectors(best) : best;
        return CONVOP_OK;
    }
#if defined(__aarch64__)
    if (asked == CVP_ISA_NEON) asked = CVP_ISA_BASELINE;
#endif
    if (asked > (int)best) {
        const enum cvp_isa has = cvp_cpu()->isa;
        return convop_fail(
            CONVOP_E_INVALID, "setting isa (CONVOP_ISA): %s was asked for, this %s has %s at most",
            asked == CVP_ISA_NEON ? "neon" : cvp_isa_name((enum cvp_isa)asked),
            asked > (int)has ? "CPU" : "library", cvp_isa_name(asked > (int)has ? has : best));
    }
    if (asked == CVP_ISA_AMX && cvp_isa_tiles_refused())
        return convop_fail(
            CONVOP_E_INVALID,
            "setting isa (CONVOP_ISA): amx was asked for, the system refuses its tiles: %s",
            strerror(cvp_isa_tiles_refused()));
    *isa = (enum cvp_isa)asked;
    return CONVOP_OK;
}
