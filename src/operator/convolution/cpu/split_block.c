/* Cutting the walks of the rows `split` into blocks; see split.h. */
#include "src/common/size.h"
#include "src/operator/convolution/cpu/split.h"

struct cutting {
    struct split_grid g;
    int64_t most;
    int64_t (*bytes)(const void *arg, const struct split_grid *g);
    const void *arg;
};

/* The largest of [1, count] for *size, a size of b, with which the grid is not above `most` bytes;
 * 1 at least. */
static void grow(struct cutting *c, const struct split_block *b, int64_t *size, int64_t count)
{
    int64_t low = 1, high = count, middle = count; /* at first all of it: most often that fits */
    for (; low < high; middle = low + (high - low + 1) / 2) {
        *size = middle;
        if (cvp_conv_split_grid_size(&c->g, b) && c->bytes(c->arg, &c->g) <= c->most)
            low = middle;
        else
            high = middle - 1;
    }
    *size = low;
}

/* Parts of `count` no larger than `most`, as equal as can be. */
static int64_t even(int64_t count, int64_t most)
{
    return cvp_ceil_div(count, cvp_ceil_div(count, most));
}

struct split_block cvp_conv_split_cut(const struct stencil *s, int64_t mb, int64_t most,
                                      int64_t (*bytes)(const void *arg, const struct split_grid *g),
                                      const void *arg)
{
    struct cutting c = {cvp_conv_split_grid(s), most, bytes, arg};
    struct split_block b = {.images = 1, .depth = 1, .height = 1, .width = 1};
    grow(&c, &b, &b.width, s->w.count);
    if (b.width < s->w.count) {
        b.width = even(s->w.count, b.width) + SPLIT_PANEL - 1;
        b.width -= b.width % SPLIT_PANEL;
        return b;
    }
    grow(&c, &b, &b.height, s->h.count);
    if (b.height < s->h.count) {
        b.height = even(s->h.count, b.height);
        return b;
    }
    grow(&c, &b, &b.depth, s->d.count);
    if (b.depth < s->d.count) {
        b.depth = even(s->d.count, b.depth);
        return b;
    }
    grow(&c, &b, &b.images, mb);
    b.images = even(mb, b.images);
    return b;
}

int64_t cvp_conv_split_blocks(const struct split_block *most, const struct stencil *s, int64_t mb)
{
    return cvp_ceil_div(mb, most->images) * cvp_ceil_div(s->d.count, most->depth) *
           cvp_ceil_div(s->h.count, most->height) * cvp_ceil_div(s->w.count, most->width);
}

struct split_block cvp_conv_split_block(const struct split_block *most, const struct stencil *s,
                                        int64_t mb, int64_t i)
{
    const int64_t widths = cvp_ceil_div(s->w.count, most->width);
    const int64_t heights = cvp_ceil_div(s->h.count, most->height);
    const int64_t depths = cvp_ceil_div(s->d.count, most->depth);
    struct split_block b = {.w0 = i % widths * most->width,
                            .h0 = i / widths % heights * most->height,
                            .d0 = i / widths / heights % depths * most->depth,
                            .n0 = i / widths / heights / depths * most->images};
    b.width = cvp_min_i64(most->width, s->w.count - b.w0);
    b.height = cvp_min_i64(most->height, s->h.count - b.h0);
    b.depth = cvp_min_i64(most->depth, s->d.count - b.d0);
    b.images = cvp_min_i64(most->images, mb - b.n0);
    return b;
}
