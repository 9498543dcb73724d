/* What the row `gemm` is expected to take: its products, the packing of their operands, and the
 * lowering. */
#include "src/operator/convolution/cpu/estimate.h"
#include "src/operator/convolution/cpu/matmul.h"

/* Rows of a register tile at most; its columns are two vectors. */
static const double tile_rows[CVP_ISA_VECTORS] = {6, 6, 14};

/* Call; products; tiles; vector multiply-adds; elements packed of a, of b; elements of columns,
 * runs of them; bytes. */
static const conv_prices prices[3][2] =
    {
        [CONVOP_FWD] =
            {
                {
                    {938, 104, 0, 0.206, 0.328, 0.197, 0, 6.56, 0.0501},
                    {1110, 81.1, 0, 0.196, 0.326, 0, 0.213, 10.5, 0.0233},
                    {1330, 36.6, 0, 0.182, 0.319, 0.158, 0, 7.89, 0.0264},
                },
                {
                    {259, 172, 11.5, 0.213, 0, 0.102, 0, 12.8, 0},
                    {455, 920, 3.76, 0.181, 0.167, 0.223, 0, 10.3, 0.00596},
                    {51.6, 0, 56.1, 0.236, 0.0788, 0.173, 0, 13.2, 0},
                },
            },
        [CONVOP_BWD_D] =
            {
                {
                    {1000, 105, 3.51, 0.202, 0.562, 0, 0.35, 3.45, 0.0289},
                    {844, 19, 0, 0.176, 0.467, 0, 0.323, 8.03, 0.0372},
                    {803, 69, 8.16, 0.184, 0.401, 0, 0.191, 5.27, 0.0178},
                },
                {
                    {0, 63.3, 34.6, 0.174, 0.175, 0.428, 0, 8.29, 0.00839},
                    {140, 867, 2.22, 0.149, 0.473, 0.305, 0.294, 13.3},
                    {130, 25, 67.1, 0.161, 0.273, 0.218, 0, 9.15, 0},
                },
            },
        [CONVOP_BWD_W] =
            {
                {
                    {1160, 147, 10, 0.191, 0, 0.345, 0, 5.74, 0.0785},
                    {992, 152, 25.5, 0.154, 0.364, 0.0387, 0.483, 7.43, 0.0165},
                    {741, 227, 260, 0.108, 0, 0.461, 0.0556, 4.25, 0.0895},
                },
                {
                    {608, 314, 0, 0.208, 0, 0, 0, 12, 0.126},
                    {416, 0, 22.6, 0.166, 0.455, 0, 0.249, 10, 0.00918},
                    {361, 456, 41.3, 0.201, 0.197, 0.13, 0, 12.5, 0.0618},
                },
            },
};

double cvp_conv_products_price(const convop_conv_problem *p, const struct cvp_conv_products *w)
{
    const double lanes = cvp_conv_vector(p);
    const double rows = tile_rows[cvp_isa_vectors(p->isa)];
    const double tiles = cvp_conv_parts(w->m, rows) * cvp_conv_parts(w->n, 2 * lanes) *
                         cvp_conv_parts(w->k, CVP_GEMM_KC);
    const double work[CONV_KINDS] = {1,
                                     w->calls,
                                     w->calls * tiles,
                                     w->calls * w->m * cvp_conv_parts(w->n, lanes) * w->k,
                                     w->calls * w->m * w->k,
                                     w->calls * w->n * w->k,
                                     w->columns,
                                     w->runs,
                                     cvp_conv_image_bytes(p)};
    return cvp_conv_price(p, prices[p->direction][p->channels_last], work, w->tasks);
}

double cvp_conv_column_runs(const convop_conv_problem *p, double images, double rows)
{
    if (p->channels_last) return images * (double)cvp_conv_dst_pixels(p) * (double)cvp_conv_taps(p);
    return images * rows * (double)p->od * (double)p->oh;
}
