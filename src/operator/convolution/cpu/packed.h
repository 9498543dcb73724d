/* How the row `packed` cuts a problem, and its steps; see packed.c. */
#ifndef CVP_CONV_PACKED_H
#define CVP_CONV_PACKED_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/convolution/impl.h"
#include "src/operator/gemm/gemm_kernels.h"
#include "src/operator/tile/tile.h"

/* Products that are summed in registers, at most. A panel of weights so deep comes from the
 * second-level cache, as fast as it is multiplied; adding to sums more often costs more. */
#define CVP_PACKED_DEPTH 1024

/* Places of a window of NC*, at most. */
#define CVP_PACKED_MAX_TAPS 256

#define CVP_PACKED_MAX_PHASES  64
#define CVP_PACKED_MAX_ROWS    14 /* of any tile */
#define CVP_PACKED_MAX_COLUMNS 32

struct packed {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    const struct cvp_gemm_kernels *packers;
    int64_t size; /* bytes of an element */
    struct conv_ends ends;
    int64_t taps, phases;
    int64_t columns, panels; /* output channels of a panel; panels of a group */
    int64_t height, block;   /* pixels of a tile, and at a time: whole tiles */
    int64_t group;           /* panels that take a chunk of the depth before the next one */
    int64_t shares;          /* a panel's tiles are cut into for threads */
    int is_by_block;         /* lanes take blocks, with all panels; else the panels of each block */
    int64_t tile;            /* elements from one packed tile of pixels to the next */
    int is_in_order;         /* pixels lie in out as they are counted */
    int is_direct;           /* they are, and their sums are put there at once */
    int is_zoned;            /* zones of the walk come one after the other, each with its taps */
    struct stencil_zones zones;
    int packs_all; /* a call packs all weights first, as zones take them repeatedly */
    int is_by_tap; /* the depth is tap, channel; otherwise channel, tap */
    size_t weight_bytes, bias_bytes;
    size_t pixel_bytes; /* of all lanes; lanes with blocks have their own */
    size_t panel_bytes, sum_bytes, piece_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct packed cvp_conv_packed_plan(const convop_conv_problem *p);

/* Bytes of the workspace that no lane has of its own: a compact bias, all packed weights if a call
 * needs them, and pixels. */
static inline size_t cvp_conv_packed_shared(const struct packed *k)
{
    return k->bias_bytes + (k->packs_all ? k->weight_bytes : 0) + k->pixel_bytes;
}

/* The same for one zone of it. */
struct packed cvp_conv_packed_zone(const struct packed *k, const struct stencil *zone);

/* Expected milliseconds. */
double cvp_conv_packed_estimate(const convop_conv_problem *p);

/* Pixels [m0, m1) of one group, of all images in one phase of the stride, or a zone of it (see
 * stencil.h). */
struct packed_block {
    struct stencil s;
    int64_t g, m0, m1;
    int64_t depth; /* taps times input channels */
    int64_t panel; /* depth of a panel of packed weights: that of the phase */
    int64_t unit;  /* of the depth, past which no chunk reaches: a zone's packed weights lie evenly
                    * within a tap alone */
    int64_t chunk; /* of it, at a time; channel, tap: whole channels */
};

struct packed_pixel {
    int64_t n, d, h, w; /* of the phase */
};

static inline struct packed_pixel packed_pixel_at(const struct packed_block *b, int64_t m)
{
    struct packed_pixel x;
    x.w = m % b->s.w.count;
    m /= b->s.w.count;
    x.h = m % b->s.h.count;
    m /= b->s.h.count;
    x.d = m % b->s.d.count;
    x.n = m / b->s.d.count;
    return x;
}

/* That of a walk and group, as yet without pixels. */
static inline struct packed_block cvp_conv_packed_block(const struct packed *k,
                                                        const struct stencil *s, int64_t g)
{
    const int64_t taps = s->d.taps * s->h.taps * s->w.taps, depth = taps * k->ends.in.c;
    struct packed_block b = {.s = *s, .g = g, .depth = depth, .panel = depth, .unit = depth};
    b.chunk = depth < CVP_PACKED_DEPTH ? depth : CVP_PACKED_DEPTH;
    if (!k->is_by_tap && taps > 0) b.chunk -= b.chunk % taps;
    if (k->is_zoned) {
        b.panel = k->taps * k->ends.in.c;
        b.unit = k->ends.in.c;
    }
    return b;
}

/* Where the chunk of the depth that begins at p ends. */
static inline int64_t packed_chunk_end(const struct packed_block *b, int64_t p)
{
    const int64_t end = p - p % b->unit + b->unit;
    return p + b->chunk < end ? p + b->chunk : end;
}

/* Packs all that `rows` pixels from m on read into a panel as high as a tile. The order of the
 * depth is tap, channel in N*C and, but for zones, channel, tap in NC*, as in the weights. There is
 * room for a piece for each pixel and tap. */
void cvp_conv_packed_pixels(const struct packed *k, const struct packed_block *b, const char *in,
                            int64_t m, int rows, struct cvp_piece *pieces, void *panel);

/* Packs the weights [p0, p1) of the phase's depth for the output channels from c on. */
void cvp_conv_packed_weights(const struct packed *k, const struct packed_block *b,
                             const char *weights, int64_t c, int64_t p0, int64_t p1, void *panel);

/* Where element p of the depth lies in a panel of packed weights. */
int64_t cvp_conv_packed_place(const struct packed *k, const struct packed_block *b, int64_t p);

/* Where the weights of element p of the depth lie, for the output channels from c on. */
const char *cvp_conv_packed_weights_at(const struct packed *k, const struct packed_block *b,
                                       const char *weights, int64_t c, int64_t p);

/* All weights: of each phase, group and panel, one after the other. */
void cvp_conv_packed_all_weights(const struct packed *k, const void *weights, void *packed,
                                 const convop_context *context);

/* Writes the sums of pixels [m0, m1) for `columns` channels from c on, or adds them to out; with
 * what follows the sum. */
void cvp_conv_packed_put(const struct packed *k, const struct packed_block *b, int64_t m0,
                         int64_t m1, int64_t c, int columns, const char *sums, char *out,
                         const char *residual);

/* A call, and its present block. */
struct packed_job {
    const struct packed *k;
    struct packed_block b;
    const char *in, *weights, *bias, *residual;
    const char *packed; /* the phase's weights, or NULL */
    char *out, *pixels, *lanes;
};

/* Computes the block by all lanes. */
void cvp_conv_packed_multiply(const struct packed_job *job, const convop_context *context);

/* Computes it by one of them. */
void cvp_conv_packed_multiply_alone(const struct packed_job *job, int lane);

#endif
