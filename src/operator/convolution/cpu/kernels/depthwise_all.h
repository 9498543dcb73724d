/* All depthwise kernels of one type and their table. No guard: included once for each type. */
#include "src/operator/convolution/cpu/kernels/vector.h"

/* The structs of these files, by names that say no type. */
#define CHANNELS struct NAME(channels)
#define EDGE     struct NAME(edge)
#define EDGES    struct NAME(row)
#define END      struct NAME(end)
#define ITEM     struct NAME(item)
#define LINE     struct NAME(line)
#define PAIR     struct NAME(pair)
#define PATCH    struct NAME(patch)
#define PIECE    struct NAME(rows)
#define PLANE    struct NAME(plane)
#define SLIDE    struct NAME(slide)
#define SWEEP    struct NAME(sweep)
#define TAPS     struct NAME(taps_of)
#define WALK     struct NAME(walk)
#define WAY      struct NAME(way)

/* In this order: each uses what is above it. */
/* clang-format off */
#include "src/operator/convolution/cpu/kernels/depthwise_edges.h"
#include "src/operator/convolution/cpu/kernels/depthwise_planes.h"
#include "src/operator/convolution/cpu/kernels/depthwise_windows.h"
#include "src/operator/convolution/cpu/kernels/depthwise_pairs.h"
#include "src/operator/convolution/cpu/kernels/depthwise_first.h"
#include "src/operator/convolution/cpu/kernels/depthwise_last.h"
#include "src/operator/convolution/cpu/kernels/depthwise_turned.h"
#include "src/operator/convolution/cpu/kernels/depthwise_filter_first.h"
#include "src/operator/convolution/cpu/kernels/depthwise_filter_last.h"
/* clang-format on */

/* See cvp_dw_kernels.pack. */
static void NAME(pack)(const convop_conv_problem *p, const void *weights, void *packed,
                       int64_t begin, int64_t end)
{
    int backward = p->direction == CONVOP_BWD_D;
    int64_t taps = cvp_conv_taps(p), channels = backward ? p->ic : p->oc;
    int64_t of_each = backward ? p->oc / p->ic : 1;
    for (int64_t v = begin; v < end; v++)
        for (int64_t m = 0; m < of_each; m++) {
            SCALAR *to = (SCALAR *)packed + (v * of_each + m) * taps * LANES;
            for (int64_t l = 0; l < LANES; l++) {
                int64_t c = v * LANES + l;
                const STORED *from = (const STORED *)weights + (c * of_each + m) * taps;
                for (int64_t k = 0; k < taps; k++)
                    to[k * LANES + l] = c < channels ? NAME(get)(from + k) : 0;
            }
        }
}

/* See cvp_dw_kernels.put. */
static void NAME(put_sum)(void *at, int64_t i, double sum, int add)
{
    STORED *to = (STORED *)at + i;
    NAME(set)(to, (SCALAR)(add ? (double)NAME(get)(to) + sum : sum));
}

extern const struct cvp_dw_kernels PASTE(NAME(cvp_dw), CVP_ISA_SUFFIX);
const struct cvp_dw_kernels PASTE(NAME(cvp_dw), CVP_ISA_SUFFIX) = {
    .lanes = LANES,
    .block_rows = ROWS,
    .first = NAME(first),
    .last = NAME(last),
    .turned = NAME(turned),
    .pack = NAME(pack),
    .filter_first = NAME(filter_first),
    .filter_last = NAME(filter_last),
    .put = NAME(put_sum),
};

#undef VEC
#undef LOOSE
#undef IVEC
#undef MASK
#undef CHANNELS
#undef EDGE
#undef EDGES
#undef END
#undef ITEM
#undef LINE
#undef PAIR
#undef PATCH
#undef PIECE
#undef PLANE
#undef SLIDE
#undef SWEEP
#undef TAPS
#undef WALK
#undef WAY
