/* The list of tile kernels, and tiles that are not as wide as their vectors. */
#include "src/operator/tile/tile.h"

#include <string.h>

#include "src/common/isa_list.h"

#define DECLARE(ISA, isa)                                                                          \
    extern const struct cvp_tile_kernels cvp_tile_f32_##isa, cvp_tile_f64_##isa;
CVP_EACH_ISA(DECLARE)

#define ENTRY(ISA, isa) [CVP_ISA_##ISA] = {&cvp_tile_f32_##isa, &cvp_tile_f64_##isa},
static const struct cvp_tile_kernels *const tables[CVP_ISA_COUNT][CVP_FLOAT_COUNT] = {
    CVP_EACH_ISA(ENTRY)};

const struct cvp_tile_kernels *cvp_tile_kernels(enum cvp_float type, enum cvp_isa isa)
{
    int i = (int)isa < CVP_ISA_COUNT ? (int)isa : CVP_ISA_BASELINE;
    while (i > CVP_ISA_BASELINE && !tables[i][type]) i--;
    return tables[i][type];
}

/* Bytes of the largest tile of any set: 14 x 2 vectors of 64 bytes. */
#define TILE_BYTES (14 * 2 * 64)

void cvp_tile_run(const struct cvp_tile_kernels *k, const struct cvp_tile_args *t, int rows,
                  int columns)
{
    const int vectors = (columns + k->lanes - 1) / k->lanes;
    cvp_tile *tile =
        (t->b_table ? k->table_tiles : k->tiles)[(rows - 1) * k->vectors + vectors - 1];
    if (columns == vectors * k->lanes) {
        tile(t);
        return;
    }
    /* On the side, by the same kernel. */
    _Alignas(64) char c[TILE_BYTES];
    _Alignas(64) char bias[2 * 64];
    struct cvp_tile_args side = *t;
    const size_t width = (size_t)(vectors * k->lanes * k->size);
    const size_t valid = (size_t)(columns * k->size);
    side.c = c;
    side.c_row = vectors * k->lanes;
    for (int i = 0; i < rows && t->add; i++) {
        memset(c + i * width + valid, 0, width - valid);
        memcpy(c + i * width, (char *)t->c + i * t->c_row * k->size, valid);
    }
    if (t->column_bias) {
        memset(bias, 0, sizeof bias);
        memcpy(bias, t->column_bias, valid);
        side.column_bias = bias;
    }
    tile(&side);
    for (int i = 0; i < rows; i++)
        memcpy((char *)t->c + i * t->c_row * k->size, c + i * width, valid);
}
