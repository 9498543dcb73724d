/* Weights of the row `grouped` as vectors of output channels, and sums of a filter gradient as
 * weights. */
#include <string.h>

#include "src/operator/convolution/cpu/grouped.h"

/* What is turned at once, `n` elements of each lane: NC*, the taps of input channel j; N*C, taps
 * and input channels, j is 0. */
static int64_t rows_of(const struct grouped *k, const struct grouped_vector *v, int64_t j,
                       int64_t rows[GROUPED_MOST_LANES])
{
    const int64_t in = k->ends.in.c, out = k->ends.out.c;
    for (int l = 0; l < k->kernels->lanes; l++) {
        const int64_t c = v->out + l;
        const int64_t row =
            k->p->direction == CONVOP_BWD_D ? (c / out * in + j) * out + c % out : c * in + j;
        rows[l] = l < v->lanes ? row * k->taps : -1;
    }
    return k->p->channels_last ? k->taps * in : k->taps;
}

/* Backward by data in N*C: lanes of a group lie side by side. */
static void copy_lanes(const struct grouped *k, const struct grouped_vector *v, const char *weights,
                       char *packed)
{
    const int64_t in = k->ends.in.c, out = k->ends.out.c, vector = k->kernels->lanes * k->size;
    for (int64_t tap = 0; tap < k->taps; tap++)
        for (int64_t j = 0; j < in; j++, packed += vector) {
            int64_t l = 0;
            while (l < v->lanes) {
                const int64_t c = v->out + l, left = out - c % out;
                const int64_t n = left < v->lanes - l ? left : v->lanes - l;
                const char *from =
                    weights + (((c / out * in + j) * k->taps + tap) * out + c % out) * k->size;
                char *to = packed + l * k->size;
                /* A call for each would take longer than the copies. */
                switch (n * k->size) {
                case 8: memcpy(to, from, 8); break;
                case 16: memcpy(to, from, 16); break;
                case 32: memcpy(to, from, 32); break;
                case 64: memcpy(to, from, 64); break;
                default: memcpy(to, from, (size_t)(n * k->size));
                }
                l += n;
            }
            memset(packed + l * k->size, 0, (size_t)(vector - l * k->size));
        }
}

void cvp_conv_grouped_pack(const struct grouped *k, const void *weights, void *packed,
                           int64_t begin, int64_t end)
{
    const int64_t lanes = k->kernels->lanes, in = k->ends.in.c;
    const int last = k->p->channels_last;
    for (int64_t i = begin; i < end; i++) {
        const struct grouped_vector v = cvp_conv_grouped_vector(k, i);
        char *to = (char *)packed + i * in * k->taps * lanes * k->size;
        if (last && k->p->direction == CONVOP_BWD_D) {
            copy_lanes(k, &v, weights, to);
            continue;
        }
        int64_t rows[GROUPED_MOST_LANES];
        for (int64_t j = 0; j < (last ? 1 : in); j++) {
            const int64_t n = rows_of(k, &v, j, rows);
            k->kernels->turn_in(to + j * n * lanes * k->size, lanes, weights, rows, n, 0);
        }
    }
}

void cvp_conv_grouped_unpack(const struct grouped *k, const void *packed, void *weights,
                             int64_t begin, int64_t end)
{
    const int64_t lanes = k->kernels->lanes, in = k->ends.in.c;
    for (int64_t i = begin; i < end; i++) {
        const struct grouped_vector v = cvp_conv_grouped_vector(k, i);
        const char *from = (const char *)packed + i * in * k->taps * lanes * k->size;
        int64_t rows[GROUPED_MOST_LANES];
        for (int64_t j = 0; j < (k->p->channels_last ? 1 : in); j++) {
            const int64_t n = rows_of(k, &v, j, rows);
            k->kernels->turn_out(weights, rows, from + j * n * lanes * k->size, lanes, n,
                                 k->p->add);
        }
    }
}
