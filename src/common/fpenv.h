/* The floating-point environment that convop computes in: round to nearest, denormals kept, no
 * traps. A host may have set another one; it gets its own back. */
#ifndef CVP_COMMON_FPENV_H
#define CVP_COMMON_FPENV_H

#if defined(__SSE__)
#include <xmmintrin.h>

/* MXCSR: the six exception flags stay where they are, the rest is what a thread begins with. */
static inline unsigned cvp_fpenv_enter(void)
{
    unsigned old = _mm_getcsr(), ours = (old & 0x3f) | 0x1f80;
    if (old != ours) _mm_setcsr(ours);
    return old;
}

static inline void cvp_fpenv_leave(unsigned old)
{
    unsigned now = _mm_getcsr(), theirs = old | (now & 0x3f);
    if (now != theirs) _mm_setcsr(theirs); /* a write costs ten reads */
}
#elif defined(__aarch64__)
static inline unsigned cvp_fpenv_enter(void)
{
    unsigned long old;
    __asm__ volatile("mrs %0, fpcr" : "=r"(old));
    if (old) __asm__ volatile("msr fpcr, %0" : : "r"(0ul));
    return (unsigned)old;
}

static inline void cvp_fpenv_leave(unsigned old)
{
    if (old) __asm__ volatile("msr fpcr, %0" : : "r"((unsigned long)old));
}
#else
static inline unsigned cvp_fpenv_enter(void)
{
    return 0;
}
static inline void cvp_fpenv_leave(unsigned old)
{
    (void)old;
}
#endif

#endif
