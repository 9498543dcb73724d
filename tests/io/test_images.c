/* Decoding, encoding, orientation, resizing and augmentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "io/augment.h"
#include "io/decode.h"
#include "io/encode.h"
#include "io/exif.h"
#include "io/resize.h"
#include "tests/io/support.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

static struct cvp_io_decoder decoder;
static struct cvp_io_encoder encoder;
static struct cvp_io_image image, decoded;
static struct cvp_io_record file;

static int stop(void **state)
{
    (void)state;
    cvp_io_decoder_free(&decoder);
    cvp_io_encoder_free(&encoder);
    cvp_io_image_free(&image);
    cvp_io_image_free(&decoded);
    cvp_io_record_free(&file);
    return 0;
}

/* Writes what libpng's plain interface takes: a colour type, bits, interlace. */
static void write_png(int type, int bits, int interlace, int width, int height,
                      const unsigned char *rows, size_t row)
{
    const char *path = test_path("t.png");
    FILE *f = fopen(path, "w");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, bits, type, interlace, 0, 0);
    if (type == PNG_COLOR_TYPE_PALETTE) {
        static const png_color colors[4] = {{1, 2, 3}, {40, 50, 60}, {255, 0, 0}, {7, 8, 9}};
        static const png_byte clear[2] = {0, 128};
        png_set_PLTE(png, info, colors, 4);
        png_set_tRNS(png, info, clear, 2, NULL);
    }
    png_write_info(png, info);
    png_bytep *lines = calloc((size_t)height, sizeof *lines);
    for (int y = 0; y < height; y++) lines[y] = (png_bytep)(uintptr_t)(rows + (size_t)y * row);
    png_write_image(png, lines);
    png_write_end(png, info);
    free(lines);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    cvp_io_record_free(&file);
    file = test_read(path);
}

static void expect_pixels(int channels, int n, const unsigned char *wanted)
{
    expect_ok(cvp_io_decode(&decoder, file.data, file.size, channels, &decoded));
    assert_int_equal(decoded.width * decoded.height * decoded.channels, n);
    assert_memory_equal(decoded.data, wanted, (size_t)n);
}

static void png_forms(void **state)
{
    (void)state;
    static const unsigned char rgb[6] = {10, 20, 30, 200, 100, 50}, gray[2] = {9, 250};
    write_png(PNG_COLOR_TYPE_RGB, 8, 0, 2, 1, rgb, 6);
    expect_pixels(3, 6, rgb);
    expect_pixels(0, 6, rgb);
    expect_ok(cvp_io_decode(&decoder, file.data, file.size, 1, &decoded));
    assert_true(abs(decoded.data[0] - 18) <= 1 && abs(decoded.data[1] - 124) <= 1);
    static const unsigned char rgba[8] = {10, 20, 30, 0, 200, 100, 50, 77};
    write_png(PNG_COLOR_TYPE_RGB_ALPHA, 8, 0, 2, 1, rgba, 8);
    expect_pixels(3, 6, rgb);
    write_png(PNG_COLOR_TYPE_GRAY, 8, 0, 2, 1, gray, 2);
    expect_pixels(0, 2, gray);
    expect_pixels(3, 6, (const unsigned char[]){9, 9, 9, 250, 250, 250});
    static const unsigned char gray_alpha[4] = {9, 0, 250, 1};
    write_png(PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, 2, 1, gray_alpha, 4);
    expect_pixels(1, 2, gray);
    static const unsigned char wide[4] = {9, 255, 250, 0}; /* 16 bits, big-endian */
    write_png(PNG_COLOR_TYPE_GRAY, 16, 0, 2, 1, wide, 4);
    expect_pixels(1, 2, gray);
    static const unsigned char bits[1] = {0xa0}; /* 1 0 1 */
    write_png(PNG_COLOR_TYPE_GRAY, 1, 0, 3, 1, bits, 1);
    expect_pixels(1, 3, (const unsigned char[]){255, 0, 255});
    static const unsigned char palette[1] = {0x1b}; /* 0 1 2 3 */
    write_png(PNG_COLOR_TYPE_PALETTE, 2, 0, 4, 1, palette, 1);
    expect_pixels(3, 12, (const unsigned char[]){1, 2, 3, 40, 50, 60, 255, 0, 0, 7, 8, 9});
}

static void png_interlaced(void **state)
{
    (void)state;
    test_picture(&image, 13, 11, 3, 0);
    write_png(PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_ADAM7, 13, 11, image.data, 39);
    expect_pixels(3, 13 * 11 * 3, image.data);
}

static void png_faults(void **state)
{
    (void)state;
    test_picture(&image, 9, 9, 3, 1);
    expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_PNG, 9, &file));
    for (size_t n = 1; n < file.size; n++) {
        assert_int_equal(cvp_io_decode(&decoder, file.data, n, 3, &decoded), CONVOP_E_INVALID);
        assert_true(test_mentions(convop_last_error(), "png"));
    }
    for (size_t i = 16; i < file.size; i++) { /* every byte is under a checksum */
        file.data[i] ^= 4;
        assert_int_equal(cvp_io_decode(&decoder, file.data, file.size, 3, &decoded),
                         CONVOP_E_INVALID);
        file.data[i] ^= 4;
    }
    expect_pixels(3, 9 * 9 * 3, image.data);
}

/* A header alone says 60000 x 60000: refused before memory is asked for. */
static void sizes_are_checked_first(void **state)
{
    (void)state;
    test_picture(&image, 16, 16, 1, 0);
    expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 90, &file));
    for (size_t i = 0; i + 9 < file.size; i++)
        if (file.data[i] == 0xff && file.data[i + 1] == 0xc0)
            memcpy(file.data + i + 5, "\xea\x60\xea\x60", 4);
    assert_int_equal(cvp_io_decode(&decoder, file.data, file.size, 1, &decoded), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "60000x60000"));
    struct cvp_io_image none = {0};
    assert_int_equal(cvp_io_image_reserve(&none, 0, 5, 3), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_image_reserve(&none, 1, (int64_t)1 << 40, 3), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_image_reserve(&none, 1, 1, 2), CONVOP_E_INVALID);
    assert_null(none.data);
}

static void jpeg_there_and_back(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        test_picture(&image, 37, 23, channels, 0);
        for (int i = 0; i < 37 * 23 * channels; i++) /* smooth across, so that 4:2:0 is no loss */
            image.data[i] = (unsigned char)(60 + i / channels % 37 * 2);
        expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 95, &file));
        expect_ok(cvp_io_decode(&decoder, file.data, file.size, 0, &decoded));
        assert_true(decoded.width == 37 && decoded.height == 23 && decoded.channels == channels);
        assert_string_equal(decoder.warning, "");
        for (int i = 0; i < 37 * 23 * channels; i++)
            assert_true(abs(decoded.data[i] - image.data[i]) <= 4);
    }
    assert_int_equal(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 0, &file), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_encode(&encoder, &image, CVP_IO_PNG, 101, &file), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_decode(&decoder, "GIF89a", 6, 3, &decoded), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_decode(&decoder, "GIF89a", 6, 2, &decoded), CONVOP_E_INVALID);
}

/* Any damage: an error, or a picture; the sanitizers watch. */
static void damaged_jpegs(void **state)
{
    (void)state;
    struct rng rng = {test_seed(3)};
    test_picture(&image, 40, 30, 3, 2);
    expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 80, &file));
    unsigned char *copy = malloc(file.size);
    int errors = 0, warnings = 0;
    for (int64_t i = test_scaled(400); i > 0; i--) {
        const size_t n =
            rng_chance(&rng, 50) ? (size_t)rng_int(&rng, 1, (int64_t)file.size) : file.size;
        memcpy(copy, file.data, n);
        for (int64_t k = rng_int(&rng, 0, 3); k > 0; k--)
            copy[rng_int(&rng, 0, (int64_t)n - 1)] = (unsigned char)rng_next(&rng);
        unsigned char *exact = malloc(n);
        memcpy(exact, copy, n);
        convop_status status = cvp_io_decode(&decoder, exact, n, 3, &decoded);
        errors += status != CONVOP_OK;
        warnings += status == CONVOP_OK && decoder.warning[0];
        free(exact);
    }
    if (errors < 10 || warnings < 10) fail_msg("%d errors, %d warnings", errors, warnings);
    free(copy);
}

/* Puts a segment with an orientation behind the first marker. */
static void add_exif(int orientation, int big)
{
    unsigned char segment[36] = {0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0};
    unsigned char little[26] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0};
    unsigned char large[26] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1};
    little[18] = (unsigned char)orientation;
    large[19] = (unsigned char)orientation;
    memcpy(segment + 10, big ? large : little, 26);
    expect_ok(cvp_io_record_reserve(&file, file.size + 36));
    memmove(file.data + 38, file.data + 2, file.size - 2);
    memcpy(file.data + 2, segment, 36);
    file.size += 36;
}

static void exif_orientation(void **state)
{
    (void)state;
    /* Corners of the picture as stored: top left, top right, bottom left, bottom right; and as
     * they are to be shown, for each orientation (EXIF 2.3, tag 274). */
    static const char shown[9][5] = {"",     "abcd", "badc", "dcba", "cdab",
                                     "acbd", "cadb", "dbca", "bdac"};
    for (int o = 1; o <= 8; o++) {
        expect_ok(cvp_io_image_reserve(&image, 32, 16, 1));
        for (int i = 0; i < 32 * 16; i++)
            image.data[i] = (unsigned char)(40 + 50 * (i % 32 / 16 + 2 * (i / 32 / 8)));
        expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 95, &file));
        add_exif(o, o % 2);
        assert_int_equal(cvp_io_exif_orientation(file.data, file.size), o);
        expect_ok(cvp_io_decode(&decoder, file.data, file.size, 1, &decoded));
        const int w = decoded.width, h = decoded.height;
        assert_true(o < 5 ? w == 32 && h == 16 : w == 16 && h == 32);
        const int at[4] = {0, w - 1, (h - 1) * w, h * w - 1};
        for (int k = 0; k < 4; k++)
            assert_true(abs(decoded.data[at[k]] - (40 + 50 * (shown[o][k] - 'a'))) <= 3);
        for (size_t n = 0; n < file.size; n++) { /* no reading past the end */
            unsigned char *exact = malloc(n ? n : 1);
            memcpy(exact, file.data, n);
            const int got = cvp_io_exif_orientation(exact, n);
            assert_true(got == 1 || got == o);
            free(exact);
        }
    }
    expect_ok(cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 95, &file));
    add_exif(9, 0);
    assert_int_equal(cvp_io_exif_orientation(file.data, file.size), 1);
}

static double sample(const struct cvp_io_image *i, double at, int size, int stride)
{
    double low = floor(at), f = at - low;
    int a = (int)fmin(fmax(low, 0), size - 1), b = (int)fmin(fmax(low + 1, 0), size - 1);
    return (1 - f) * i->data[a * stride] + f * i->data[b * stride];
}

static void resizing(void **state)
{
    (void)state;
    struct rng rng = {test_seed(4)};
    for (int n = 0; n < 60; n++) {
        /* A row or a column: the formula in double, +- the rounding of 11-bit weights. */
        const int from = (int)rng_int(&rng, 1, 60), to = (int)rng_int(&rng, 1, 90), down = n % 2;
        expect_ok(cvp_io_image_reserve(&image, down ? 1 : from, down ? from : 1, 1));
        for (int i = 0; i < from; i++) image.data[i] = (unsigned char)rng_next(&rng);
        expect_ok(cvp_io_resize(&image, down ? 1 : to, down ? to : 1, &decoded));
        for (int i = 0; i < to; i++) {
            const double wanted = sample(&image, (i + 0.5) * from / to - 0.5, from, 1);
            if (fabs(decoded.data[i] - wanted) > 1.01)
                fail_msg("%d to %d at %d: %d, not %g", from, to, i, decoded.data[i], wanted);
        }
    }
    int64_t w, h;
    expect_ok(cvp_io_image_reserve(&image, 50, 301, 3));
    cvp_io_short_edge(&image, 20, &w, &h);
    assert_true(w == 20 && h == 120); /* 120.4 */
    expect_ok(cvp_io_image_reserve(&image, 301, 1, 3));
    cvp_io_short_edge(&image, 2, &w, &h);
    assert_true(w == 602 && h == 2);
    assert_int_equal(cvp_io_resize(&image, 1 << 20, 1 << 20, &decoded), CONVOP_E_INVALID);
}

static float value(const struct cvp_io_image *i, int x, int y, int c)
{
    return i->data[(y * i->width + x) * i->channels + c];
}

static void augmentation(void **state)
{
    (void)state;
    struct cvp_io_augment_scratch scratch = {0};
    struct cvp_io_augment a = CVP_IO_AUGMENT_DEFAULTS;
    a.width = 5;
    a.height = 4;
    a.mean[1] = 10;
    a.std[2] = 4;
    a.scale = 0.5f;
    expect_ok(cvp_io_augment_check(&a));
    test_picture(&image, 11, 9, 3, 3);
    float out[3 * 6 * 6];
    struct cvp_io_random random = cvp_io_random_for(1, 2, 3);
    expect_ok(cvp_io_augment_apply(&a, &random, &image, &scratch, out));
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 5; x++) {
                const float v = value(&image, x + 3, y + 2, c);
                const float wanted = (v - (c == 1 ? 10 : 0)) / (c == 2 ? 4 : 1) * 0.5f;
                assert_true(out[(c * 4 + y) * 5 + x] == wanted);
            }
    /* Random: each place of the crop comes, mirrored and not, and nothing else. */
    a = (struct cvp_io_augment)CVP_IO_AUGMENT_DEFAULTS;
    a.width = 9;
    a.height = 8;
    a.rand_crop = a.rand_mirror = 1;
    a.channels = 1;
    test_picture(&image, 11, 9, 1, 0);
    int seen[12] = {0};
    float one[72];
    for (uint64_t i = 0; i < 400; i++) {
        random = cvp_io_random_for(7, 0, i);
        expect_ok(cvp_io_augment_apply(&a, &random, &image, &scratch, one));
        int match = -1;
        for (int k = 0; k < 12 && match < 0; k++) {
            int same = 1;
            for (int y = 0; y < 8; y++)
                for (int x = 0; x < 9; x++)
                    same &= one[y * 9 + x] ==
                            value(&image, k / 2 % 3 + (k % 2 ? 8 - x : x), k / 6 + y, 0);
            if (same) match = k;
        }
        assert_true(match >= 0);
        seen[match]++;
    }
    for (int k = 0; k < 12; k++) assert_true(seen[k] > 10);
    /* Padding: 1 pixel of 200 around a picture of the size of the crop less 2. */
    a = (struct cvp_io_augment)CVP_IO_AUGMENT_DEFAULTS;
    a.width = 6;
    a.height = 6;
    a.pad = 1;
    a.fill_value = 200;
    test_picture(&image, 4, 4, 3, 0);
    expect_ok(cvp_io_augment_apply(&a, &random, &image, &scratch, out));
    assert_true(out[0] == 200 && out[35] == 200 && out[7] == value(&image, 0, 0, 0));
    /* Enlarging: a picture of one colour stays it, whatever its form. */
    a.pad = 0;
    for (int n = 1; n < 40; n++) {
        expect_ok(cvp_io_image_reserve(&image, n, 40 / n, 3));
        memset(image.data, 99, (size_t)image.width * (size_t)image.height * 3);
        expect_ok(cvp_io_augment_apply(&a, &random, &image, &scratch, out));
        for (int i = 0; i < 108; i++) assert_true(out[i] == 99);
    }
    cvp_io_augment_scratch_free(&scratch);
}

static void augmentation_faults(void **state)
{
    (void)state;
    struct cvp_io_augment a[9];
    for (int i = 0; i < 9; i++) {
        a[i] = (struct cvp_io_augment)CVP_IO_AUGMENT_DEFAULTS;
        a[i].width = a[i].height = 224;
    }
    a[0].channels = 2;
    a[1].width = 0;
    a[2].resize = -1;
    a[3].fill_value = 256;
    a[4].std[1] = 0;
    a[5].scale = NAN;
    a[6].pad = -1;
    a[7].mean[2] = INFINITY;
    for (int i = 0; i < 8; i++) assert_int_equal(cvp_io_augment_check(&a[i]), CONVOP_E_INVALID);
    expect_ok(cvp_io_augment_check(&a[8]));
    /* A thread of pixels would have to become larger than any picture may be. */
    struct cvp_io_augment_scratch scratch = {0};
    struct cvp_io_random random = cvp_io_random_for(0, 0, 0);
    expect_ok(cvp_io_image_reserve(&image, 1, 60000, 3));
    float nothing = 5;
    assert_int_equal(cvp_io_augment_apply(&a[8], &random, &image, &scratch, &nothing),
                     CONVOP_E_INVALID);
    assert_true(nothing == 5);
    cvp_io_augment_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_forms),           cmocka_unit_test(png_interlaced),
        cmocka_unit_test(png_faults),          cmocka_unit_test(sizes_are_checked_first),
        cmocka_unit_test(jpeg_there_and_back), cmocka_unit_test(damaged_jpegs),
        cmocka_unit_test(exif_orientation),    cmocka_unit_test(resizing),
        cmocka_unit_test(augmentation),        cmocka_unit_test(augmentation_faults),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
