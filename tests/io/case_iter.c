/* The cases of the image iterator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "io/encode.h"
#include "io/image_iter.h"
#include "io/image_record.h"
#include "io/record_writer.h"
#include "tests/io/case.h"
#include "tests/io/support.h"
#include "tests/support/expect.h"

/* What stands in the fifth of ten records. */
enum fifth { TRUNCATED, EMPTY, CMYK, PNG, FIFTHS };

static void write_ten(const char *path, enum fifth fifth)
{
    struct cvp_io_record_writer *w = NULL;
    struct cvp_io_encoder encoder = {0};
    struct cvp_io_image image = {0};
    struct cvp_io_record file = {0}, record = {0};
    expect_ok(cvp_io_record_create(path, NULL, &w));
    for (int i = 0; i < 10; i++) {
        const float label = (float)i;
        test_picture(&image, 24, 24, 3, i);
        expect_ok(cvp_io_encode(&encoder, &image, i == 4 && fifth == PNG ? CVP_IO_PNG : CVP_IO_JPEG,
                                90, &file));
        if (i == 4 && fifth == TRUNCATED) file.size -= 10; /* in the scan */
        if (i == 4 && fifth == EMPTY) file.size = 0;
        if (i == 4 && fifth == CMYK) {
            cvp_io_record_free(&file);
            file = case_file("jpg.cmyk_adobe");
        }
        expect_ok(
            cvp_io_image_record_pack(&record, (uint64_t)i, &label, 1, 0, file.data, file.size));
        expect_ok(cvp_io_record_write(w, (uint64_t)i, record.data, record.size));
    }
    expect_ok(cvp_io_record_commit(&w));
    cvp_io_encoder_free(&encoder);
    cvp_io_image_free(&image);
    cvp_io_record_free(&file);
    cvp_io_record_free(&record);
}

#define TEN_SIDE 16

/* Runs through the ten; `skip` and `keep` as in the options. Gives the labels in order; -1 where an
 * error came. */
static int read_ten(const char *path, int skip, int keep, float *labels,
                    struct cvp_io_image_iter_counts *counts)
{
    static float data[4 * 3 * TEN_SIDE * TEN_SIDE];
    struct cvp_io_image_iter_options o = CVP_IO_IMAGE_ITER_DEFAULTS;
    o.path = path;
    o.batch = 4;
    o.skip_bad = skip;
    o.keep_damaged = keep;
    o.augment.width = o.augment.height = TEN_SIDE;
    struct cvp_io_image_iter *it = NULL;
    expect_ok(cvp_io_image_iter_create(&o, &it));
    int n = 0;
    for (;;) {
        struct cvp_io_batch b = {data, labels + n, NULL, 0, 0};
        for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) data[i] = -1;
        if (cvp_io_image_iter_next(it, &b) != CONVOP_OK) n = -1;
        if (n < 0 || b.count == 0) break;
        for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) assert_true(data[i] >= 0);
        n += b.count;
    }
    cvp_io_image_iter_counts(it, counts);
    cvp_io_image_iter_destroy(&it);
    return n;
}

void case_one_bad_of_ten(json_t *c)
{
    const char *path = test_path("ten.rec");
    struct cvp_io_image_iter_counts counts;
    float labels[16];
    for (enum fifth fifth = TRUNCATED; fifth < FIFTHS; fifth++) {
        const int bad = fifth == TRUNCATED || fifth == EMPTY;
        write_ten(path, fifth);
        int n = read_ten(path, 0, 0, labels, &counts);
        assert_int_equal(n, bad ? -1 : 10);
        if (bad) {
            case_expect_error(c, CONVOP_E_INVALID, "record 4 at offset");
            assert_non_null(strstr(convop_last_error(), path));
        }
        n = read_ten(path, 1, 0, labels, &counts);
        assert_true(n == (bad ? 9 : 10) && counts.bad == bad && counts.images == n);
        for (int i = 0; i < n; i++) assert_true(labels[i] == (float)(i + (bad && i >= 4)));
        /* Half a picture is one, where that is wanted; it is counted. */
        n = read_ten(path, 1, 1, labels, &counts);
        assert_int_equal(n, fifth == EMPTY ? 9 : 10);
        assert_int_equal(counts.damaged, fifth == TRUNCATED);
    }
}

void case_smaller_than_crop(json_t *c)
{
    const json_t *size = json_object_get(case_params(c), "image");
    const char *path = test_path("small.rec");
    test_image_file(path, NULL, 3, (int)json_integer_value(json_array_get(size, 0)),
                    (int)json_integer_value(json_array_get(size, 1)), 1, NULL);
    struct cvp_io_image_iter_options o = CVP_IO_IMAGE_ITER_DEFAULTS;
    o.path = path;
    o.batch = 3;
    o.augment.width = o.augment.height = 224;
    o.augment.rand_crop = 1;
    float *data = malloc((size_t)3 * 3 * 224 * 224 * sizeof *data), labels[3];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    struct cvp_io_image_iter *it = NULL;
    expect_ok(cvp_io_image_iter_create(&o, &it));
    expect_ok(cvp_io_image_iter_next(it, &b));
    for (int i = 0; i < 3 * 3 * 224 * 224; i++) assert_true(data[i] >= 0 && data[i] <= 255);
    cvp_io_image_iter_destroy(&it);
    free(data);
}

void case_close_early(json_t *c)
{
    (void)c;
    const char *path = test_path("close.rec");
    test_image_file(path, NULL, 64, 200, 200, 1, NULL);
    static float data[2][8 * 3 * 64 * 64], labels[2][8];
    for (int round = 0; round < 20; round++) {
        struct cvp_io_image_iter *it[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            struct cvp_io_image_iter_options o = CVP_IO_IMAGE_ITER_DEFAULTS;
            o.path = path;
            o.batch = 8;
            o.augment.width = o.augment.height = 64;
            expect_ok(cvp_io_image_iter_create(&o, &it[i]));
        }
        for (int i = 0; i < 2 * (round % 4); i++) {
            struct cvp_io_batch b = {data[i % 2], labels[i % 2], NULL, 0, 0};
            expect_ok(cvp_io_image_iter_next(it[i % 2], &b));
        }
        if (round % 4) assert_memory_equal(data[0], data[1], sizeof data[0]);
        cvp_io_image_iter_destroy(&it[0]);
        cvp_io_image_iter_destroy(&it[1]);
    }
}
