/* The GEMM driver: cuts the matrices into blocks that fit the caches, packs them into panels and
 * calls the micro-kernels. After Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (2008); no arithmetic here.
 *
 * Rows are cut into panels of equal height rather than into full ones and a rest: 64 rows are
 * 5 panels of 13, not 4 of 14 and a tile of which 6 rows are thrown away. */
#include "src/operator/gemm/gemm.h"

#include <string.h>

#include "src/common/size.h"
#include "src/operator/gemm/gemm_kernels.h"

#define ALIGN 64

struct cut {
    int mr;         /* rows of a's panels */
    int64_t m_step; /* rows of a packed at a time, a multiple of mr */
    int64_t n_step; /* columns of b, a multiple of nr */
    char *a, *b;    /* where */
};

/* size cut into equal steps of at most so many whole panels. */
static int64_t even_step(int64_t size, int64_t panel, int64_t most)
{
    const int64_t panels = cvp_ceil_div(size, panel);
    const int64_t steps = cvp_ceil_div(panels, most);
    return cvp_ceil_div(panels, steps) * panel;
}

/* Whole panels in a block that was halved so often; one at least. */
static int64_t panels_of(int64_t block, int64_t panel, int halvings)
{
    return cvp_max_i64(1, (block / panel) >> halvings);
}

/* Bounds that grow with the size, unlike the even steps themselves. */
static size_t a_bytes(const struct cvp_gemm_kernels *kernels, int64_t m, int64_t k, int halvings)
{
    const int64_t rows =
        kernels->mr * cvp_min_i64(cvp_ceil_div(m, kernels->mr),
                                  panels_of(kernels->a_block, kernels->mr, halvings));
    const size_t bytes = (size_t)rows * (size_t)cvp_min_i64(k, CVP_GEMM_KC) * (size_t)kernels->size;
    return cvp_round_up(bytes + CVP_GEMM_PACK_SLACK, ALIGN);
}

static size_t b_bytes(const struct cvp_gemm_kernels *kernels, int64_t n, int64_t k, int halvings)
{
    const int64_t columns =
        kernels->nr * cvp_min_i64(cvp_ceil_div(n, kernels->nr),
                                  panels_of(kernels->b_block, kernels->nr, halvings));
    const size_t bytes =
        (size_t)columns * (size_t)cvp_min_i64(k, CVP_GEMM_KC) * (size_t)kernels->size;
    return cvp_round_up(bytes, ALIGN);
}

size_t cvp_gemm_workspace(const struct cvp_gemm_kernels *kernels, int64_t m, int64_t n, int64_t k,
                          int halvings)
{
    return a_bytes(kernels, m, k, halvings) + b_bytes(kernels, n, k, halvings);
}

/* A tile at the border of c: computed whole, on the side, by the same kernel. */
static void edge_tile(const struct cvp_gemm_kernels *kernels, cvp_gemm_tile *tile,
                      struct cvp_gemm_tile_args *t, int rows, int columns)
{
    _Alignas(ALIGN) char side[CVP_GEMM_TILE_BYTES];
    char *c = t->c;
    const int64_t c_row = t->c_row;
    const size_t valid = (size_t)(columns * kernels->size);
    if (t->add) {
        memset(side, 0, sizeof side);
        for (int i = 0; i < rows; i++)
            memcpy(side + i * kernels->nr * kernels->size, c + i * c_row * kernels->size, valid);
    }
    t->c = side;
    t->c_row = kernels->nr;
    tile(t);
    for (int i = 0; i < rows; i++)
        memcpy(c + i * c_row * kernels->size, side + i * kernels->nr * kernels->size, valid);
    t->c_row = c_row;
}

/* c's part at rows i.. and columns j.., for depth p..p + kc. */
struct part {
    int64_t i, rows, j, columns, p, kc;
    int new_a, new_b; /* not in the workspace yet */
};

/* A panel is packed by the first tile that needs it where that tile can (the copy then hides behind
 * the arithmetic), and apart from it otherwise. */
static void multiply(const struct cvp_gemm_kernels *kernels, const struct cvp_gemm *g,
                     const struct cut *cut, const struct part *part)
{
    const int size = kernels->size, mr = cut->mr, nr = kernels->nr;
    struct cvp_gemm_tile_args t = {.k = part->kc,
                                   .c_row = g->c_row,
                                   .add = g->accumulate || part->p > 0,
                                   .a_row = g->a_row,
                                   .a_col = g->a_col,
                                   .b_row = g->b_row};
    for (int64_t j = 0; j < part->columns; j += nr) {
        const int width = (int)cvp_min_i64(part->columns - j, nr);
        const int vectors = (width + kernels->lanes - 1) / kernels->lanes;
        int new_b = part->new_b;
        t.b = (const char *)g->b + (part->p * g->b_row + (part->j + j) * g->b_col) * size;
        t.b_panel = cut->b + j * part->kc * size;
        if (new_b && !(width == nr && g->b_col == 1)) {
            kernels->pack_b(t.b_panel, nr, width, part->kc, t.b, g->b_col, g->b_row);
            new_b = 0;
        }
        for (int64_t i = 0; i < part->rows; i += mr) {
            const int height = (int)cvp_min_i64(part->rows - i, mr);
            int new_a = part->new_a && j == 0;
            t.a = (const char *)g->a + ((part->i + i) * g->a_row + part->p * g->a_col) * size;
            t.a_panel = cut->a + i * part->kc * size;
            if (new_a && !(width == nr && height == mr)) {
                kernels->pack_a(t.a_panel, mr, height, part->kc, t.a, g->a_row, g->a_col);
                new_a = 0;
            }
            const int packs = (new_a ? CVP_GEMM_PACK_A : 0) | (new_b ? CVP_GEMM_PACK_B : 0);
            cvp_gemm_tile *tile = packs ? kernels->packing_tiles[packs][mr - 1]
                                        : kernels->tiles[(mr - 1) * kernels->vectors + vectors - 1];
            new_b = 0; /* the first panel of a has mr rows: it could pack */
            t.c = (char *)g->c + ((part->i + i) * g->c_row + part->j + j) * size;
            if (height == mr && width == vectors * kernels->lanes)
                tile(&t);
            else
                edge_tile(kernels, tile, &t, height, width);
        }
    }
}

static void clear(const struct cvp_gemm_kernels *kernels, const struct cvp_gemm *g)
{
    for (int64_t i = 0; i < g->m; i++)
        memset((char *)g->c + i * g->c_row * kernels->size, 0,
               (size_t)g->n * (size_t)kernels->size);
}

void cvp_gemm(const struct cvp_gemm_kernels *kernels, const struct cvp_gemm *g, void *workspace)
{
    if (g->k == 0) {
        if (!g->accumulate) clear(kernels, g);
        return;
    }
    struct cut cut;
    cut.mr = (int)cvp_ceil_div(g->m, cvp_ceil_div(g->m, kernels->mr));
    cut.m_step = even_step(g->m, cut.mr, panels_of(kernels->a_block, kernels->mr, g->halvings));
    cut.n_step =
        even_step(g->n, kernels->nr, panels_of(kernels->b_block, kernels->nr, g->halvings));
    cut.a = workspace;
    cut.b = cut.a + a_bytes(kernels, g->m, g->k, g->halvings);

    /* A whole a that fits one block is packed once for all columns. */
    const int one_a = g->k <= CVP_GEMM_KC && g->m <= cut.m_step;
    struct part part;
    for (part.j = 0; part.j < g->n; part.j += cut.n_step) {
        part.columns = cvp_min_i64(g->n - part.j, cut.n_step);
        for (part.p = 0; part.p < g->k; part.p += CVP_GEMM_KC) {
            part.kc = cvp_min_i64(g->k - part.p, CVP_GEMM_KC);
            for (part.i = 0; part.i < g->m; part.i += cut.m_step) {
                part.rows = cvp_min_i64(g->m - part.i, cut.m_step);
                part.new_a = !one_a || part.j == 0;
                part.new_b = part.i == 0;
                multiply(kernels, g, &cut, &part);
            }
        }
    }
}
