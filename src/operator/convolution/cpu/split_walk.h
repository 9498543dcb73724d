/* How the row `split`, forward and backward by data, cuts a problem, and its steps; see split.c. */
#ifndef CVP_CONV_SPLIT_WALK_H
#define CVP_CONV_SPLIT_WALK_H

#include "src/operator/convolution/cpu/split.h"

struct split_walk {
    const convop_conv_problem *p;
    const struct cvp_split_kernels *kernels;
    struct conv_ends ends;
    int64_t taps, phases;
    int64_t mb;                   /* images; 1 where those of N*C are one row */
    int64_t steps;                /* of a tap */
    int64_t panels;               /* of 32 output channels, of a group */
    int64_t pixel;                /* bytes from one pixel of a grid to the next */
    int is_merged;                /* pixels of an image, or of all, are one row */
    struct split_operand weights; /* packed: b in N*C, a in NC* */
    struct split_block block;     /* its largest sizes */
    int is_by_block;    /* lanes take blocks, with all panels; else they share each block */
    int64_t group;      /* panels that take 32 pixels before the next ones */
    int64_t shares;     /* a group's tiles are cut into for threads */
    int is_by_panel;    /* a call's lanes pack a panel's weights when they multiply it */
    size_t panel_bytes; /* a panel's weights, of a walk with all taps */
    size_t weight_bytes, bias_bytes, grid_bytes;
    size_t lane_bytes; /* a lane's own grid, or panel of weights */
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it, and `why` says why. */
struct split_walk cvp_conv_split_walk_plan(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* Bytes of the workspace that no lane has of its own: all weights, a compact bias, a grid. */
static inline size_t cvp_conv_split_shared(const struct split_walk *k)
{
    return (k->is_by_panel ? 0 : k->weight_bytes) + k->bias_bytes +
           (k->is_by_block ? 0 : k->grid_bytes);
}

/* The walk of a phase, its pixels one row where that is_merged. */
struct stencil cvp_conv_split_stencil(const struct split_walk *k, int64_t phase);

/* NC*: bytes from one pair of channels of a grid to the next. */
int64_t cvp_conv_split_plane(const struct split_grid *g);

/* Bytes of one phase's packed weights. */
int64_t cvp_conv_split_weight_bytes(const struct split_walk *k, const struct stencil *s);

/* Expected milliseconds. */
double cvp_conv_split_walk_estimate(const convop_conv_problem *p);

/* All weights: of each phase, group and panel, one after the other; of these each tap's steps. */
void cvp_conv_split_weights(const struct split_walk *k, const void *weights, void *packed,
                            const convop_context *context);

/* Those of one panel of a walk alone. */
void cvp_conv_split_panel(const struct split_walk *k, const struct stencil *s, const void *weights,
                          int64_t g, int64_t panel, char *packed);

/* A block of a group. */
struct split_job {
    const struct split_walk *k;
    const char *packed; /* weights of the group's panels */
    const float *in, *bias, *residual;
    float *out;
    char *grid;
    int64_t g;
    struct split_block b;
    struct split_grid layout;
    int64_t plane; /* NC*: bytes from one pair of channels of the grid to the next */
    int64_t walk_taps;
    int64_t out_first, out_step, out_row, out_depth; /* pixels of out */
};

/* How many parts a grid is made in, and parts of it. */
int64_t cvp_conv_split_parts(const struct split_job *job);
void cvp_conv_split_stage(const struct split_job *job, int64_t begin, int64_t end);

/* Panel i alone, of packed weights, and all pixels of the block. */
void cvp_conv_split_multiply_panel(const struct split_job *job, int64_t i, const char *packed);

/* Groups' shares [begin, end), of tiles that are set up. */
void cvp_conv_split_multiply(const struct split_job *job, int64_t begin, int64_t end);

#endif
