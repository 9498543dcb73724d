/* How the row `split`, backward by weights, cuts a problem, and its steps; see split_filter.c. */
#ifndef CVP_CONV_SPLIT_FILTER_H
#define CVP_CONV_SPLIT_FILTER_H

#include "src/operator/convolution/cpu/split.h"

/* One of the two tensors, in a group. Where the window has several places src is planes and
 * diff_dst pairs, as only planes may be read from any pixel on; else the other way round, so that
 * sums lie as diff_weights does. */
struct split_side {
    struct conv_end end;
    int is_src;
};

struct split_filter {
    const convop_conv_problem *p;
    const struct cvp_split_kernels *kernels;
    struct stencil walk; /* forward */
    int64_t taps;
    int64_t mb; /* images; 1 where those of N*C are one row */
    struct split_side planes, pairs;
    int is_tiled;                   /* planes are cut into the rows of tiles */
    int64_t rows, columns;          /* panels of 32 channels of planes, of pairs */
    struct split_block block;       /* its largest sizes */
    int64_t blocks, chunks;         /* of a group; blocks are summed apart in so many chunks */
    int is_apart;                   /* each lane takes whole chunks; else they share each block */
    size_t sum_bytes;               /* of a chunk's sums; those of the first are diff_weights */
    size_t plane_bytes, pair_bytes; /* of a block */
    size_t turn_bytes;              /* NC*: a lane's planes that are turned into pairs */
    size_t lane_bytes;              /* a lane's own of all these */
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it, and `why` says why. */
struct split_filter cvp_conv_split_filter_plan(const convop_conv_problem *p,
                                               char why[CONVOP_WHY_SIZE]);

/* Bytes of what lanes do not have of their own. */
static inline size_t cvp_conv_split_filter_shared(const struct split_filter *f)
{
    return (size_t)(f->chunks - 1) * f->sum_bytes +
           (f->is_apart ? 0 : f->plane_bytes + f->pair_bytes);
}

/* Expected milliseconds. */
double cvp_conv_split_filter_estimate(const convop_conv_problem *p);

/* A block of a group. */
struct split_filter_job {
    const struct split_filter *f;
    const float *src, *dst;
    float *out;
    char *planes, *pairs, *turned, *sums;
    int64_t g;
    int64_t first, last; /* blocks of the chunk */
    int add;             /* to what is there */
    struct split_block b;
    struct split_grid layout;
    int64_t steps;          /* of 32 pixels */
    struct split_operand a; /* how planes lie */
    int64_t panel;          /* bytes from 32 of them to the next */
};

/* Bytes of a plane of so many pixels, and of as many as whole steps read and write behind them. */
int64_t cvp_conv_split_filter_plane(int64_t pixels);

/* How many parts the planes, and the pairs, are made in; parts of them, with a lane's room. */
int64_t cvp_conv_split_plane_parts(const struct split_filter_job *job);
void cvp_conv_split_planes(const struct split_filter_job *job, int64_t begin, int64_t end);
int64_t cvp_conv_split_pair_parts(const struct split_filter_job *job);
void cvp_conv_split_pairs(const struct split_filter_job *job, char *room, int64_t begin,
                          int64_t end);

/* Products [begin, end) of panels and taps, of tiles that are set up. */
void cvp_conv_split_filter_multiply(const struct split_filter_job *job, int64_t begin, int64_t end);

#endif
