/* Packing of panels, for one type: included with SCALAR, NAME and PANEL_WIDTH, the width of b's,
 * set, after gemm_square.h.
 *
 * A panel whose lanes lie side by side in memory is copied, one whose depth does is transposed, any
 * other is gathered. Vectors here are as aligned as an element. */

#define QUAD  NAME(quad)
#define WIDE  NAME(wide)
#define QUADS (16 / (int)sizeof(SCALAR))
#define WIDES (CVP_VECTOR_BYTES / (int)sizeof(SCALAR))

typedef SCALAR QUAD __attribute__((vector_size(16), aligned(sizeof(SCALAR)), may_alias));
typedef SCALAR WIDE
    __attribute__((vector_size(CVP_VECTOR_BYTES), aligned(sizeof(SCALAR)), may_alias));

/* One step of depth at a time, from p = begin. */
static void NAME(pack_gather)(SCALAR *panel, int width, int valid, int64_t begin, int64_t end,
                              const SCALAR *src, int64_t across, int64_t along)
{
    for (int64_t p = begin; p < end; p++) {
        SCALAR *to = panel + p * width;
        const SCALAR *from = src + p * along;
        for (int i = 0; i < valid; i++) to[i] = from[i * across];
        for (int i = valid; i < width; i++) to[i] = to[valid - 1];
    }
}

/* across == 1. The last vector of a row may overlap the one before it. */
CVP_INLINE void NAME(pack_copy)(SCALAR *panel, const int width, const int valid, int64_t k,
                                const SCALAR *src, int64_t along)
{
    for (int64_t p = 0; p < k; p++) {
        SCALAR *to = panel + p * width;
        const SCALAR *from = src + p * along;
        int i = 0;
        for (; i + WIDES <= valid; i += WIDES) *(WIDE *)(to + i) = *(const WIDE *)(from + i);
        if (WIDES > QUADS)
            for (; i + QUADS <= valid; i += QUADS) *(QUAD *)(to + i) = *(const QUAD *)(from + i);
        if (i < valid && valid >= QUADS) {
            i = valid - QUADS;
            *(QUAD *)(to + i) = *(const QUAD *)(from + i);
            i = valid;
        }
        for (; i < valid; i++) to[i] = from[i];
        for (; i < width; i++) to[i] = from[valid - 1];
    }
}

/* Elements of depth that are transposed at a time: the part of the panel that they become stays in
 * the first-level cache while several passes write to it. */
#define PIECE 64

/* Rows anywhere, whose depth lies side by side. */
CVP_INLINE void NAME(pack_lines)(SCALAR *panel, const int width, int64_t k,
                                 const SCALAR *const rows[CVP_GEMM_MAX_WIDTH])
{
    int64_t p = 0;
#if CVP_VECTOR_BYTES == 64
    p = NAME(pack_wide_squares)(panel, width, 0, k, rows);
#endif
    p = NAME(pack_squares)(panel, width, p, k, rows);
    for (; p < k; p++)
        for (int i = 0; i < width; i++) panel[p * width + i] = rows[i][p];
}

/* along == 1. */
CVP_INLINE void NAME(pack_transpose)(SCALAR *panel, const int width, const int valid, int64_t k,
                                     const SCALAR *src, int64_t across)
{
    const SCALAR *rows[CVP_GEMM_MAX_WIDTH];
    for (int i = 0; i < CVP_GEMM_MAX_WIDTH; i++)
        rows[i] = src + (i < valid ? i : valid - 1) * across;
    NAME(pack_lines)(panel, width, k, rows);
}

CVP_INLINE void NAME(pack)(SCALAR *panel, const int width, int valid, int64_t k, const SCALAR *src,
                           int64_t across, int64_t along)
{
    if (across == 1 && valid == width)
        NAME(pack_copy)(panel, width, width, k, src, along);
    else if (across == 1)
        NAME(pack_copy)(panel, width, valid, k, src, along);
    else if (along == 1)
        for (int64_t p = 0; p < k; p += PIECE) {
            NAME(pack_transpose)
            (panel + p * width, width, valid, k - p < PIECE ? k - p : PIECE, src + p, across);
        }
    else
        NAME(pack_gather)(panel, width, valid, 0, k, src, across, along);
}

static void NAME(pack_a)(void *panel, int width, int valid, int64_t k, const void *src,
                         int64_t across, int64_t along)
{
    NAME(pack)(panel, width, valid, k, src, across, along);
}

static void NAME(pack_b)(void *panel, int width, int valid, int64_t k, const void *src,
                         int64_t across, int64_t along)
{
    (void)width;
    NAME(pack)(panel, PANEL_WIDTH, valid, k, src, across, along);
}

/* Not of all types. */
static inline void NAME(pack_rows)(void *panel, int width, int64_t k, const void *const *rows_)
{
    const SCALAR *rows[CVP_GEMM_MAX_WIDTH];
    for (int i = 0; i < CVP_GEMM_MAX_WIDTH; i++) rows[i] = rows_[i < width ? i : width - 1];
    NAME(pack_lines)(panel, width, k, rows);
}

#undef QUAD
#undef WIDE
#undef QUADS
#undef WIDES
#undef PIECE
