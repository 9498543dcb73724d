/* Which steps of a window stay inside an image, in one axis. Arguments are those of a checked
 * problem, so that nothing overflows. */
#ifndef CVP_CONV_WINDOW_H
#define CVP_CONV_WINDOW_H

#include <stdint.h>

/* The i in [*begin, *end), below count, for which 0 <= at + i * step < size. Empty: *begin >= *end.
 */
static inline void window_inside(int64_t at, int64_t step, int64_t size, int64_t count,
                                 int64_t *begin, int64_t *end)
{
    *begin = at < 0 ? -at / step + (-at % step != 0) : 0;
    *end = at >= size ? 0 : (size - 1 - at) / step + 1;
    if (*end > count) *end = count;
}

/* 1 if an index lies in an image of this size. */
static inline int inside(int64_t at, int64_t size)
{
    return at >= 0 && at < size;
}

#endif
