/* PNG through libpng. Its errors come back by longjmp, so what must survive one lies in a struct
 * that outlives the jump, and nothing is allocated between setjmp and the end but by libpng. */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "io/codec.h"

struct png {
    png_structp png;
    png_infop info;
    png_bytep *rows;
    const unsigned char *data; /* to read */
    size_t bytes, at;
    struct cvp_io_record *out; /* to write */
    char why[160];
};

static void on_error(png_structp png, png_const_charp message)
{
    struct png *p = png_get_error_ptr(png);
    snprintf(p->why, sizeof p->why, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t bytes)
{
    struct png *p = png_get_io_ptr(png);
    if (bytes > p->bytes - p->at) png_error(png, "truncated");
    memcpy(to, p->data + p->at, bytes);
    p->at += bytes;
}

static void write_bytes(png_structp png, png_bytep from, size_t bytes)
{
    struct png *p = png_get_io_ptr(png);
    if (cvp_io_record_reserve(p->out, p->out->size + bytes) != CONVOP_OK)
        png_error(png, "no memory");
    memcpy(p->out->data + p->out->size, from, bytes);
    p->out->size += bytes;
}

static void flush_bytes(png_structp png)
{
    (void)png;
}

/* 8 bits, gray or RGB, whatever the file has: palettes and fewer bits are expanded, of 16 bits the
 * upper 8 are taken, transparency is dropped. */
static void set_form(struct png *p, int channels)
{
    png_set_expand(p->png);
    png_set_strip_16(p->png);
    png_set_strip_alpha(p->png);
    const int color = png_get_color_type(p->png, p->info) & PNG_COLOR_MASK_COLOR;
    if (channels == 3 && !color) png_set_gray_to_rgb(p->png);
    if (channels == 1 && color) png_set_rgb_to_gray(p->png, 1, 0.299, 0.587);
    (void)png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
}

static int start_reading(struct png *p)
{
    if (setjmp(png_jmpbuf(p->png))) return 0;
    png_set_user_limits(p->png, 1 << 24, 1 << 24);
    png_set_read_fn(p->png, p, read_bytes);
    png_read_info(p->png, p->info);
    return 1;
}

static int read_rows(struct png *p, int channels, const struct cvp_io_image *image)
{
    if (setjmp(png_jmpbuf(p->png))) return 0;
    set_form(p, channels);
    const size_t row = (size_t)image->width * (size_t)channels;
    if (png_get_rowbytes(p->png, p->info) != row) png_error(p->png, "rows of another size");
    for (int y = 0; y < image->height; y++) p->rows[y] = image->data + (size_t)y * row;
    png_read_image(p->png, p->rows);
    png_read_end(p->png, NULL);
    return 1;
}

static convop_status fail(const struct png *p)
{
    return convop_fail(CONVOP_E_INVALID, "PNG: %s", p->why);
}

static convop_status decode(struct png *p, int channels, struct cvp_io_image *image)
{
    if (!start_reading(p)) return fail(p);
    const int64_t height = png_get_image_height(p->png, p->info);
    if (channels == 0)
        channels = png_get_color_type(p->png, p->info) & PNG_COLOR_MASK_COLOR ? 3 : 1;
    convop_status status =
        cvp_io_image_reserve(image, png_get_image_width(p->png, p->info), height, channels);
    if (status != CONVOP_OK) return status;
    p->rows = malloc((size_t)height * sizeof p->rows[0]);
    if (!p->rows) return convop_fail(CONVOP_E_NO_MEMORY, "PNG: no memory for its rows");
    return read_rows(p, channels, image) ? CONVOP_OK : fail(p);
}

convop_status cvp_io_png_decode(const unsigned char *data, size_t bytes, int channels,
                                struct cvp_io_image *image)
{
    struct png p = {.data = data, .bytes = bytes};
    p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    convop_status status = p.info ? decode(&p, channels, image)
                                  : convop_fail(CONVOP_E_NO_MEMORY, "PNG: no memory to decode");
    png_destroy_read_struct(&p.png, &p.info, NULL);
    free(p.rows);
    return status;
}

static int write_image(struct png *p, const struct cvp_io_image *image, int level)
{
    if (setjmp(png_jmpbuf(p->png))) return 0;
    png_set_write_fn(p->png, p, write_bytes, flush_bytes);
    png_set_compression_level(p->png, level);
    png_set_IHDR(p->png, p->info, (png_uint_32)image->width, (png_uint_32)image->height, 8,
                 image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(p->png, p->info);
    const size_t row = (size_t)image->width * (size_t)image->channels;
    for (int y = 0; y < image->height; y++) png_write_row(p->png, image->data + (size_t)y * row);
    png_write_end(p->png, p->info);
    return 1;
}

convop_status cvp_io_png_encode(const struct cvp_io_image *image, int level,
                                struct cvp_io_record *out)
{
    struct png p = {.out = out};
    out->size = 0;
    p.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &p, on_error, on_warning);
    p.info = p.png ? png_create_info_struct(p.png) : NULL;
    convop_status status = CONVOP_OK;
    if (!p.info)
        status = convop_fail(CONVOP_E_NO_MEMORY, "PNG: no memory to encode");
    else if (!write_image(&p, image, level))
        status = fail(&p);
    png_destroy_write_struct(&p.png, &p.info);
    return status;
}
