/* The products of the row `implicit` for NC*: tiles of output channels times pixels, which lie in
 * panels, where they were staged, or in the planes of the image; see implicit_first.c. */
#include "src/operator/convolution/cpu/finish.h"
#include "src/operator/convolution/cpu/implicit_first.h"

#include "src/common/size.h"
#include "src/common/stage.h"

/* ---- a tile -------------------------------------------------------------------------------- */

/* The products of a chunk of input channels: what the tiles of a block have in common. */
struct chunk {
    int64_t c0, c1;
    struct cvp_tile_args tile;
    int64_t a_tile; /* elements of weights from one tile to the next */
};

/* Lists the runs of the chunk's tiles, whose pixels begin at `pixels`, and in each channel
 * `pixel_row` elements further. */
static struct chunk chunk_of(const struct implicit_first_job *job,
                             const struct implicit_first_block *b, int64_t c0, int64_t c1,
                             const char *pixels, int64_t pixel_row)
{
    const struct implicit_first *f = job->f;
    const int64_t taps = implicit_first_taps(b), all = cvp_conv_taps(f->p);
    const char *weights = job->t->weights;
    struct chunk k = {.c0 = c0, .c1 = c1, .tile = {.runs = b->runs, .num_runs = 1}};
    struct cvp_tile_run *run = b->runs;
    *run = (struct cvp_tile_run){.b = pixels, .n = (c1 - c0) * taps};
    k.tile.b_row = pixel_row;
    if (job->packed) {
        run->a = job->packed + (size_t)(b->g * f->tiles) * f->weight_panel_bytes +
                 (f->ends.in.c * f->phase_taps[b->phase] + c0 * taps) * f->height * f->size;
        k.tile.a_row = 1;
        k.tile.a_col = f->height;
        k.a_tile = (int64_t)f->weight_panel_bytes / f->size;
    } else if (f->p->direction == CONVOP_FWD) {
        run->a = weights + (b->g * f->ends.out.c * f->ends.in.c + c0) * all * f->size;
        k.tile.a_row = f->ends.in.c * all;
        k.tile.a_col = 1;
        k.a_tile = f->height * k.tile.a_row;
    } else {
        run->a = weights + (b->g * f->ends.in.c + c0) * f->ends.out.c * all * f->size;
        k.tile.a_row = all;
        k.tile.a_col = all == 1 ? f->ends.out.c : 1;
        k.a_tile = f->height * all;
        /* The taps of a channel follow each other, channels do not. */
        for (int64_t c = 1; c < c1 - c0 && all > 1; c++) {
            run[c] = run[c - 1];
            run[c].a = (const char *)run->a + c * f->ends.out.c * all * f->size;
            run[c].b = (const char *)run->b + c * all * f->columns * f->size;
        }
        if (all > 1) {
            k.tile.num_runs = c1 - c0;
            for (int64_t c = 0; c < c1 - c0; c++) run[c].n = all;
        }
    }
    return k;
}

/* The pixels of tile i lie b_at elements from where the runs begin. */
static void compute_tile(const struct implicit_first_job *job, const struct implicit_first_block *b,
                         const struct chunk *k, int64_t i, const struct implicit_first_strip *strip,
                         int64_t b_at)
{
    const struct implicit_first *f = job->f;
    const struct stencil *s = &b->s;
    const int is_first = k->c0 == 0, is_last = k->c1 == f->ends.in.c;
    const int64_t channel = i * f->height;
    const int rows = (int)cvp_min_i64(f->height, f->ends.out.c - channel);
    struct cvp_tile_args t = k->tile;
    t.a_at = i * k->a_tile;
    t.b_at = b_at;
    t.stored = f->stored;
    if (job->bias && is_first) {
        t.row_bias = job->bias + (b->g * f->ends.out.c + channel) * job->bias_step * f->size;
        t.row_bias_step = job->bias_step;
    }
    const int is_in_place =
        s->w.out_step == 1 && (strip->at + strip->columns <= b->w1 - b->w0 ||
                               (!f->is_flat && s->h.out_step == 1 && s->w.count == f->ends.out.w));
    if (is_in_place && f->sum_bytes == 0) {
        const int64_t od = s->d.out_first + b->td * s->d.out_step;
        const int64_t oh = s->h.out_first + strip->th * s->h.out_step;
        const int64_t at =
            ((b->n * f->ends.out.all + b->g * f->ends.out.c + channel) * f->ends.out.plane +
             (od * f->ends.out.h + oh) * f->ends.out.w + s->w.out_first + b->w0 + strip->at) *
            f->stored->size;
        t.c = job->out + at;
        t.c_row = f->ends.out.plane;
        t.add = f->p->add || !is_first;
        t.streams = f->streams && is_last;
        if (is_last && job->residual) t.residual = job->residual + at;
        t.clamps = is_last && f->p->activation != CONVOP_ACTIVATION_NONE;
        t.high = cvp_conv_high(f->p);
        cvp_tile_run(f->kernels, &t, rows, strip->columns);
        return;
    }
    _Alignas(64) char side[CVP_TILE_BYTES];
    const int vectors = (strip->columns + f->kernels->lanes - 1) / f->kernels->lanes;
    int add = f->p->add || !is_first;
    t.stored = f->numbers;
    t.c = side;
    t.c_row = f->columns;
    if (f->sum_bytes > 0) {
        t.c_row = f->strips * f->columns;
        t.c = b->sums +
              ((channel - b->tile0 * f->height) * t.c_row + strip->number * f->columns) * f->size;
        t.add = !is_first;
        add = f->p->add;
    }
    cvp_tile_run(f->kernels, &t, rows, vectors * f->kernels->lanes);
    if (f->sum_bytes == 0 || is_last)
        cvp_conv_implicit_first_put(job, b, strip, channel, rows, t.c, t.c_row, add, is_last);
}

/* ---- a block ------------------------------------------------------------------------------- */

/* Strip y of the pixels that follow each other in rows of `wrap` places. */
static struct implicit_first_strip strip_of(const struct implicit_first *f,
                                            const struct implicit_first_block *b, int64_t y,
                                            int64_t wrap, int64_t all)
{
    return (struct implicit_first_strip){b->h0 + y / wrap, y % wrap,
                                         (int)cvp_min_i64(f->columns, all - y), y / f->columns};
}

static void multiply_panels(const struct implicit_first_job *job,
                            const struct implicit_first_block *b, int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    const int64_t width = b->w1 - b->w0, all = (b->h1 - b->h0) * width;
    int outer = cvp_stage_enter(CONVOP_STAGE_LOWERING);
    cvp_conv_implicit_first_gather(f, b, job->in, c0, c1);
    cvp_stage_leave(outer);
    outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    const struct chunk k = chunk_of(job, b, c0, c1, b->panels, f->columns);
    for (int64_t i = b->tile0; i < b->tile1; i++)
        for (int64_t y = 0; y < all; y += f->columns) {
            const struct implicit_first_strip strip = strip_of(f, b, y, width, all);
            compute_tile(job, b, &k, i, &strip, y / f->columns * b->panel);
        }
    cvp_stage_leave(outer);
}

/* Strips of the block's rows, or of one long row. */
static void multiply_rows(const struct implicit_first_job *job,
                          const struct implicit_first_block *b, const struct chunk *k)
{
    const struct implicit_first *f = job->f;
    const int64_t width = b->w1 - b->w0, step = f->is_flat ? b->h1 - b->h0 : 1;
    int64_t number = 0;
    for (int64_t th = b->h0; th < b->h1; th += step) {
        const int64_t all = (step - 1) * f->pitch + width;
        for (int64_t y = 0; y < all; y += f->columns) {
            const struct implicit_first_strip strip = {
                th + y / f->pitch, y % f->pitch, (int)cvp_min_i64(f->columns, all - y), number++};
            for (int64_t i = b->tile0; i < b->tile1; i++)
                compute_tile(job, b, k, i, &strip, (th - b->h0) * f->pitch + y);
        }
    }
}

static void multiply_staged(const struct implicit_first_job *job,
                            const struct implicit_first_block *b, int64_t c0, int64_t c1)
{
    int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
    struct chunk k = chunk_of(job, b, c0, c1, b->staged, 0);
    k.tile.b_table = b->table;
    multiply_rows(job, b, &k);
    cvp_stage_leave(outer);
}

/* Vectors of pixels where they lie; the rest, past which may be no memory, in a panel. */
static void multiply_planes(const struct implicit_first_job *job,
                            const struct implicit_first_block *b, int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    struct implicit_first_block vectors = *b, rest = *b;
    vectors.w1 = rest.w0 = b->w1 - (b->w1 - b->w0) % f->kernels->lanes;
    if (vectors.w0 < vectors.w1) {
        int outer = cvp_stage_enter(CONVOP_STAGE_PRODUCT);
        const int64_t plane = b->n * f->ends.in.all + b->g * f->ends.in.c + c0;
        const char *pixels = job->in + (plane * f->ends.in.plane + b->w0) * f->size;
        const struct chunk k = chunk_of(job, b, c0, c1, pixels, f->ends.in.plane);
        multiply_rows(job, &vectors, &k);
        cvp_stage_leave(outer);
    }
    if (rest.w0 < rest.w1) multiply_panels(job, &rest, c0, c1);
}

void cvp_conv_implicit_first_multiply(const struct implicit_first_job *job,
                                      const struct implicit_first_block *b, int64_t c0, int64_t c1)
{
    const struct implicit_first *f = job->f;
    (f->is_direct     ? multiply_planes
     : f->is_gathered ? multiply_panels
                      : multiply_staged)(job, b, c0, c1);
}
