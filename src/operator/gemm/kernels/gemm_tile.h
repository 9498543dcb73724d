/* The GEMM micro-kernels of one type and their table: included with SCALAR, TYPE and NAME set,
 * after gemm_pack.h.
 *
 * One tile for every number of rows and of vectors, so that a matrix can be cut into panels of
 * equal height; and those of full width also as packing tiles. Whatever the tile, an element is one
 * chain of (contracted) multiply-adds from zero over ascending p, added to c at the end. */

#define VECTOR NAME(vector)
#define LOOSE  NAME(loose)
#define LANES  (CVP_VECTOR_BYTES / (int)sizeof(SCALAR))
#define NR     (CVP_TILE_VECTORS * LANES)

typedef SCALAR VECTOR __attribute__((vector_size(CVP_VECTOR_BYTES), may_alias)); /* panels */
typedef SCALAR LOOSE __attribute__((vector_size(CVP_VECTOR_BYTES), aligned(sizeof(SCALAR)),
                                    may_alias)); /* operands */

CVP_INLINE void NAME(tile)(const int rows, const int vectors, const int packs,
                           const struct cvp_gemm_tile_args *t)
{
    /* Set without a condition and with a loop that runs at least once: otherwise gcc keeps a copy
     * of the whole array on the stack. */
    VECTOR sum[CVP_TILE_ROWS][CVP_TILE_VECTORS];
    CVP_UNROLL for (int i = 0; i < rows; i++)
    {
        CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = (VECTOR){0};
    }
    int64_t k = t->k;
    SCALAR *a = t->a_panel, *b = t->b_panel;
    /* Three rows from one base: x86 has such addresses, and few registers. */
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    const SCALAR *a_base[(CVP_TILE_ROWS + 2) / 3], *b_from = t->b;
    if (packs & CVP_GEMM_PACK_A) {
        CVP_UNROLL for (int i = 0; i < rows; i += 3)
        {
            a_base[i / 3] = (const SCALAR *)t->a + i * a_row;
        }
    }
    do {
        VECTOR bv[CVP_TILE_VECTORS];
        CVP_UNROLL for (int v = 0; v < vectors; v++)
        {
            if (packs & CVP_GEMM_PACK_B) {
                bv[v] = *(const LOOSE *)(b_from + v * LANES);
                *(VECTOR *)(b + v * LANES) = bv[v];
                /* The next panel, into L2. A prefetch never faults. */
                __builtin_prefetch(b_from + NR + v * LANES, 0, 2);
            } else {
                bv[v] = *(const VECTOR *)(b + v * LANES);
            }
        }
        CVP_UNROLL for (int i = 0; i < rows; i++)
        {
            const SCALAR *from = packs & CVP_GEMM_PACK_A ? a_base[i / 3] + i % 3 * a_row : a + i;
            VECTOR av = *from - (VECTOR){0}; /* the scalar in every lane: x - 0 is x */
            if (packs & CVP_GEMM_PACK_A) {
                CVP_IN_REGISTER(av);
                a[i] = av[0];
            }
            CVP_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] += av * bv[v];
        }
        if (packs & CVP_GEMM_PACK_A) {
            CVP_UNROLL for (int i = 0; i < rows; i += 3) a_base[i / 3] += a_col;
        }
        if (packs & CVP_GEMM_PACK_B) b_from += b_row;
        a += rows;
        b += NR;
    } while (--k);
    SCALAR *c = t->c;
    const int64_t c_row = t->c_row;
    if (t->add) {
        CVP_UNROLL for (int i = 0; i < rows; i++, c += c_row)
        {
            CVP_UNROLL for (int v = 0; v < vectors; v++)
            {
                *(LOOSE *)(c + v * LANES) += sum[i][v];
            }
        }
    } else {
        CVP_UNROLL for (int i = 0; i < rows; i++, c += c_row)
        {
            CVP_UNROLL for (int v = 0; v < vectors; v++)
            {
                *(LOOSE *)(c + v * LANES) = sum[i][v];
            }
        }
    }
}

#define TILE(rows, vectors)                                                                        \
    static void NAME(tile_##rows##x##vectors)(const struct cvp_gemm_tile_args *t)                  \
    {                                                                                              \
        NAME(tile)(rows, vectors, 0, t);                                                           \
    }
#define PACKING(rows, packs)                                                                       \
    static void NAME(packing_tile_##rows##_##packs)(const struct cvp_gemm_tile_args *t)            \
    {                                                                                              \
        NAME(tile)(rows, CVP_TILE_VECTORS, packs, t);                                              \
    }
#define ROWS(rows) CVP_EACH_VECTORS(TILE, rows) PACKING(rows, 1) PACKING(rows, 2) PACKING(rows, 3)
CVP_EACH_ROWS(ROWS)
#undef TILE
#undef PACKING
#undef ROWS

#define TILE(rows, vectors) NAME(tile_##rows##x##vectors),
#define ROWS(rows)          CVP_EACH_VECTORS(TILE, rows)
static cvp_gemm_tile *const NAME(tiles)[] = {CVP_EACH_ROWS(ROWS)};
#undef TILE
#undef ROWS

#define PACKS_A(rows)  NAME(packing_tile_##rows##_1),
#define PACKS_B(rows)  NAME(packing_tile_##rows##_2),
#define PACKS_AB(rows) NAME(packing_tile_##rows##_3),
static cvp_gemm_tile *const NAME(packing_tiles)[][CVP_TILE_ROWS] = {
    {CVP_EACH_ROWS(PACKS_A)}, {CVP_EACH_ROWS(PACKS_B)}, {CVP_EACH_ROWS(PACKS_AB)}};
#undef PACKS_A
#undef PACKS_B
#undef PACKS_AB

/* The packed block of a stays in its part of the L2 cache; that of b is 1 MB, which a larger L2
 * holds as well; one panel of b (32 KB at most) goes through L1. */
extern const struct cvp_gemm_kernels PASTE(NAME(cvp_gemm), CVP_ISA_SUFFIX);
const struct cvp_gemm_kernels PASTE(NAME(cvp_gemm), CVP_ISA_SUFFIX) = {
    .isa = STRING(CVP_ISA_SUFFIX),
    .type = TYPE,
    .size = (int)sizeof(SCALAR),
    .mr = CVP_TILE_ROWS,
    .nr = NR,
    .lanes = LANES,
    .vectors = CVP_TILE_VECTORS,
    .a_block = CVP_L2_PART_BYTES / (CVP_GEMM_KC * (int)sizeof(SCALAR)) / CVP_TILE_ROWS *
               CVP_TILE_ROWS,
    .b_block = (1 << 20) / (CVP_GEMM_KC * (int)sizeof(SCALAR)) / NR * NR,
    .pack_a = NAME(pack_a),
    .pack_b = NAME(pack_b),
    .pack_rows = NAME(pack_rows),
    .tiles = NAME(tiles),
    .packing_tiles = {NULL, NAME(packing_tiles)[0], NAME(packing_tiles)[1], NAME(packing_tiles)[2]},
};

#undef VECTOR
#undef LOOSE
#undef LANES
#undef NR
