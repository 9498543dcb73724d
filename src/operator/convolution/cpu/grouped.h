/* The row `grouped`: convolutions whose groups have few channels, so that a vector of outputs spans
 * several groups.
 *
 * Lanes are output channels side by side, of all groups. What a row of pixels reads is spread once
 * into the first-level cache: for each input channel j of a group and each pixel a vector of which
 * every lane holds channel j of its own group,
 *
 *     spread[j][pixel][lane] = in[pixel][group of lane][j]
 *
 * and from there each tap is a multiply-add of vectors, whatever the groups are:
 *
 *     forward      out[pixel] += weights[j][tap] * spread[j][pixel * stride + tap]
 *     by weights   weights[j][tap] += diff_dst[pixel] * spread[j][pixel * stride + tap]
 *
 * Backward by data is the first with the window rotated (stencil.h), for all phases of a stride
 * together. Rows that are spread stay in a ring as long as windows read them. In NC* rows of pixels
 * are turned into vectors of channels on the way in, and back on the way out. */
#ifndef CVP_CONV_GROUPED_H
#define CVP_CONV_GROUPED_H

#include "src/operator/convolution/cpu/ends.h"
#include "src/operator/convolution/cpu/stencil.h"
#include "src/operator/convolution/impl.h"

/* The widest vector. */
#define GROUPED_MOST_LANES 16

/* Taps of a row of the window, of pixels that are spread: tap k of input channel j reads
 * x + j * plane + k * x_tap and is multiplied with w + j * w_step + k * w_tap. */
struct cvp_grouped_run {
    const void *x, *w;
};

/* A row of outputs, strides in elements. */
struct cvp_grouped_sum {
    const struct cvp_grouped_run *runs;
    int64_t num_runs;
    int64_t taps, channels; /* of a run */
    int64_t plane, x_tap, w_step, w_tap;
    int64_t x_step;   /* from one output to the next, in vectors */
    const void *bias; /* a vector, or NULL */
    void *out;
    int64_t out_step, pixels;
    int lanes; /* that there are */
    int add;
};

/* A row of diff_dst, for a row of the window's taps. */
struct cvp_grouped_filter {
    const void *x;
    int64_t taps, channels;
    int64_t plane, x_tap, x_step; /* all in elements */
    const void *y;                /* diff_dst: whole vectors */
    int64_t y_step, pixels;
    void *sums; /* of channel j and tap k at sums + j * sum_step + k * sum_tap; added to */
    int64_t sum_step, sum_tap;
};

/* The kernels of one instruction set for one type. Strides are in elements. */
struct cvp_grouped_kernels {
    int lanes;    /* elements of a vector */
    int pixels;   /* that are summed together, at most */
    int permuted; /* the widest span that is spread by permuting vectors; others lane by lane */

    /* to[(j * plane + before + x) * lanes + l] = from[x * pixel + index[l] + j] for j < channels
     * and x < pixels, with so many zeros before and behind. Nothing past from[x * pixel + span - 1]
     * is read. */
    void (*spread)(void *to, int64_t plane, const void *from, int64_t pixel, const int32_t *index,
                   int64_t channels, int64_t span, int64_t before, int64_t pixels, int64_t behind,
                   int64_t ahead);

    /* Rows that lie anywhere become lanes, and back, added to what is there if `add`:
     * to[x * step + l] = from[rows[l] + x], x < n; 0 where rows[l] is negative. */
    void (*turn_in)(void *to, int64_t step, const void *from, const int64_t *rows, int64_t n,
                    int64_t ahead);
    void (*turn_out)(void *to, const int64_t *rows, const void *from, int64_t step, int64_t n,
                     int add);

    void (*sum)(const struct cvp_grouped_sum *s);
    void (*filter)(const struct cvp_grouped_filter *f);

    /* to[i] += from[i], whole vectors, n elements. */
    void (*add)(void *to, const void *from, int64_t n);
};

/* Those for an instruction set that the CPU has. */
const struct cvp_grouped_kernels *cvp_grouped_kernels(const convop_conv_problem *p);

/* Phases of an axis that are computed together. */
#define GROUPED_PHASES 3

/* The phases of an axis, and what output 0 of all of them reads, in or out of the image. */
struct grouped_axis {
    int64_t phases, count; /* outputs of the first, which has the most */
    int64_t step, low, reach;
    struct stencil_axis at[GROUPED_PHASES];
};

/* How a problem is cut. A task is a vector of output channels of some rows of an image; it goes
 * from strip to strip of their width. By weights `out` is diff_dst, and a task is a vector of
 * several such blocks. */
struct grouped {
    const convop_conv_problem *p;
    const struct cvp_grouped_kernels *kernels;
    struct conv_ends ends;
    struct grouped_axis h, w;
    int64_t size; /* bytes of an element */
    int64_t taps, vectors;
    int64_t w_step, w_tap; /* between vectors of weights, see cvp_conv_grouped_pack */
    int64_t span;          /* input channels that a vector reads, at most */
    int64_t block;         /* input channels of a group at a time */
    int64_t phases_d, d_count;
    int64_t rows, row_blocks; /* of a block, in outputs of a phase; blocks of an image */
    int64_t width, pixels;    /* of a strip, likewise; pixels that its rows read */
    int64_t blocks, parts;    /* of all images; by weights, tasks that share them */
    int64_t tasks;
    size_t weight_bytes, bias_bytes; /* by weights: of a part's sums */
    size_t ring_bytes, turned_bytes, out_bytes, run_bytes, lane_bytes;
    int lanes; /* 0: the problem is not taken */
};

/* The rows' `cut`, a struct grouped; see convop_conv_impl. */
int cvp_conv_grouped_cut(const convop_conv_problem *p, void *cut, char why[CONVOP_WHY_SIZE]);

/* The depths of a phase. */
struct stencil_axis cvp_conv_grouped_depths(const struct grouped *k, int64_t phase);

/* A vector of output channels: what its lanes read and are. */
struct grouped_vector {
    int64_t first, span; /* the input channels of their groups */
    int64_t out;         /* the first output channel */
    int lanes;
    int32_t index[GROUPED_MOST_LANES]; /* from `first` to a lane's group */
};

struct grouped_vector cvp_conv_grouped_vector(const struct grouped *k, int64_t v);

/* Weights of vectors [begin, end) become vectors: tap k of input channel j of a group is the
 * (j * w_step + k * w_tap)-th of its vector. And back, of a filter gradient's sums. */
void cvp_conv_grouped_pack(const struct grouped *k, const void *weights, void *packed,
                           int64_t begin, int64_t end);
void cvp_conv_grouped_unpack(const struct grouped *k, const void *packed, void *weights,
                             int64_t begin, int64_t end);

/* Where a plane, or a row of it, of `n` channels from c0 on lies in an image of an end. */
void cvp_conv_grouped_planes(const struct conv_end *end, int64_t c0, int64_t n, int64_t at,
                             int64_t rows[GROUPED_MOST_LANES]);

/* A strip of a task: rows of the input become spread ones as they are asked for. */
struct grouped_strip {
    const struct grouped *k;
    const struct grouped_vector *v;
    const char *image;
    char *ring, *turned;
    struct stencil_axis d;
    int64_t td;
    int64_t low_w, pixels; /* the first pixel that is read, and how many */
    int64_t j0, j1;        /* input channels of a group */
    int64_t next;          /* rows from here on are not in the ring */
};

/* Spreads the rows that output rows t of all phases read. */
void cvp_conv_grouped_read(struct grouped_strip *s, int64_t t);

/* Pixel 0 of a row that was read, of depth tap jd. */
static inline char *cvp_conv_grouped_row(const struct grouped_strip *s, int64_t jd, int64_t row)
{
    const struct grouped *k = s->k;
    const int64_t slot = (row - k->h.low) % k->h.reach; /* row >= low: nothing is negative */
    return s->ring + (jd * k->h.reach + slot) * k->block * k->pixels * k->kernels->lanes * k->size;
}

double cvp_conv_grouped_estimate(const convop_conv_problem *p);

#endif
