/* How the row `packed`, backward by weights, cuts a problem, and its steps; see packed_filter.c. */
#ifndef CVP_CONV_PACKED_FILTER_H
#define CVP_CONV_PACKED_FILTER_H

#include "src/operator/convolution/cpu/pixel_chunks.h"
#include "src/operator/convolution/impl.h"
#include "src/operator/gemm/gemm_kernels.h"
#include "src/operator/tile/tile.h"

struct packed_filter {
    const convop_conv_problem *p;
    const struct cvp_tile_kernels *kernels;
    const struct cvp_gemm_kernels *packers;
    int64_t size; /* bytes of an element */
    int64_t icg, ocg, taps, filter;
    int64_t rows, width;     /* of dst in an image; a pointwise image is one row */
    int64_t image_width;     /* pixels of a row of src */
    int64_t pixels;          /* of dst, of all images */
    int64_t columns, panels; /* elements of a filter in a panel; panels of a group */
    int64_t group, groups;   /* panels at a time; how often */
    int64_t height, tiles;   /* output channels of a tile; tiles of a group */
    int64_t pitch;           /* elements from one pixel of a packed tile to the next */
    int64_t abreast;         /* tiles that are packed side by side */
    int64_t chunk, chunks;   /* pixels that are summed apart; how often */
    int64_t depth, part;     /* pixels of diff_dst packed at a time; of them, summed at a time */
    int64_t shares;          /* a panel's tiles are cut into for threads */
    int64_t splits;          /* a chunk's tasks are cut into for lanes, if each packs for itself */
    int64_t panel;           /* elements from one panel to the next */
    int64_t step, tile;      /* elements from one part of a packed tile, or tile, to the next */
    int64_t line;            /* NC*: elements of a staged line of src */
    int shares_lines;        /* all places of a row of the window read the same */
    int is_in_place;         /* diff_dst is not packed */
    int is_apart;            /* each lane packs diff_dst for itself, as far as that is needed */
    size_t tile_bytes;       /* of all tiles */
    size_t sum_bytes;        /* of a chunk's sums; those of the first go to diff_weights at once */
    size_t panel_bytes, line_bytes, lane_bytes;
    int lanes;
};

/* A pure function of the problem. No lanes: it does not take it. */
struct packed_filter cvp_conv_packed_filter_plan(const convop_conv_problem *p);

/* Expected milliseconds. */
double cvp_conv_packed_filter_estimate(const convop_conv_problem *p);

/* Packs pixels [m0, m1) for tiles [i0, i1) of all groups: their output channels side by side, and
 * anything where a group has no more of them. `tiles` is where the first tile of all begins. */
void cvp_conv_packed_filter_dst(const struct packed_filter *f, const char *diff_dst, int64_t m0,
                                int64_t m1, int64_t i0, int64_t i1, char *tiles);

/* Packs what the elements of a group's filters from j0 on multiply, of pixels [m0, m1), side by
 * side: those of a panel. `lines` is room for as many staged lines. */
void cvp_conv_packed_filter_src(const struct packed_filter *f, const char *src, int64_t g,
                                int64_t j0, int64_t m0, int64_t m1, char *lines, char *panel);

/* Lines that tiles fetch while they multiply: of diff_dst, then of src. */
struct packed_filter_ahead {
    int64_t table[CVP_PART_PIXELS]; /* of a tile, in bytes from the first */
    int64_t step, apart;            /* bytes from one tile's to the next; NC*: between planes */
    const char *at[2];              /* where the next tile's begin */
    int64_t left[2];                /* bytes until all are fetched */
};

/* Lists a tile's lines; as yet there are none. */
void cvp_conv_packed_filter_list(const struct packed_filter *f, struct packed_filter_ahead *a);

/* From now on, fetches what a part of the pixels that begins with m reads. */
void cvp_conv_packed_filter_ahead(struct packed_filter_ahead *a, const struct packed_filter *f,
                                  const char *src, const char *diff_dst, int64_t m);

/* The first of the lines of the next tile, and the places of all from there: one again and again,
 * where nothing is left. */
const char *cvp_conv_packed_filter_lines(struct packed_filter_ahead *a, const int64_t **table);

#endif
