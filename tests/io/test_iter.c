/* The image iterator: batches, epochs, bad images, forks, early ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_iter.h"
#include "tests/io/support.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"

#define IMAGES 23
#define BATCH  4
#define SIDE   12

static char record_path[160], index_path[160];

static int start(void **state)
{
    (void)state;
    snprintf(record_path, sizeof record_path, "%s", test_path("images.rec"));
    snprintf(index_path, sizeof index_path, "%s", test_path("images.idx"));
    test_image_file(record_path, index_path, IMAGES, 20, 16, 2, NULL);
    return 0;
}

static struct cvp_io_image_iter_options usual(void)
{
    struct cvp_io_image_iter_options o = CVP_IO_IMAGE_ITER_DEFAULTS;
    o.path = record_path;
    o.batch = BATCH;
    o.label_width = 2;
    o.augment.width = o.augment.height = SIDE;
    o.augment.rand_crop = o.augment.rand_mirror = 1;
    return o;
}

/* All that an epoch gave. */
struct epoch {
    int batches, count, pad;
    uint64_t ids[64];
    float labels[128];
    float data[64 * 3 * SIDE * SIDE];
};

static void run_epoch(struct cvp_io_image_iter *it, struct epoch *e)
{
    memset(e, 0, sizeof *e);
    for (;;) {
        const int at = e->batches * BATCH;
        assert_true(at <= 60);
        struct cvp_io_batch b = {e->data + at * 3 * SIDE * SIDE, e->labels + 2 * at, e->ids + at, 9,
                                 9};
        expect_ok(cvp_io_image_iter_next(it, &b));
        if (b.count == 0) break;
        assert_int_equal(b.count + b.pad, BATCH);
        assert_int_equal(e->pad, 0); /* only the last one has any */
        e->batches++;
        e->count += b.count;
        e->pad = b.pad;
    }
}

static struct epoch *epoch_of(const struct cvp_io_image_iter_options *o, uint64_t number)
{
    struct epoch *e = malloc(sizeof *e);
    struct cvp_io_image_iter *it = NULL;
    expect_ok(cvp_io_image_iter_create(o, &it));
    if (number) expect_ok(cvp_io_image_iter_epoch(it, number));
    run_epoch(it, e);
    cvp_io_image_iter_destroy(&it);
    return e;
}

static void expect_same(struct epoch *a, struct epoch *b, int same)
{
    assert_int_equal(memcmp(a, b, sizeof *a) == 0, same);
    free(b);
}

static void every_image_once(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    for (int shuffle = 0; shuffle < 2; shuffle++)
        for (int index = 0; index < 2; index++) {
            o.shuffle = shuffle;
            o.index_path = index ? index_path : NULL;
            struct epoch *e = epoch_of(&o, 0);
            assert_true(e->batches == 6 && e->count == IMAGES && e->pad == 1);
            int seen[IMAGES] = {0}, in_order = 1;
            for (int i = 0; i < IMAGES; i++) {
                assert_true(e->ids[i] < IMAGES);
                seen[e->ids[i]]++;
                in_order &= e->ids[i] == (uint64_t)i;
                assert_true(e->labels[2 * i] == (float)e->ids[i]);
                assert_true(e->labels[2 * i + 1] == (float)e->ids[i] + 0.5f);
            }
            for (int i = 0; i < IMAGES; i++) assert_int_equal(seen[i], 1);
            assert_int_equal(in_order, !shuffle);
            assert_true(e->ids[IMAGES] == e->ids[0]); /* filled up from the beginning */
            free(e);
        }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    o.shuffle = 1;
    o.seed = 5;
    struct epoch *one = epoch_of(&o, 0);
    for (int threads = 0; threads <= 4; threads++)
        for (int prefetch = 0; prefetch <= 7; prefetch += 7) {
            o.threads = threads;
            o.prefetch = prefetch;
            expect_same(one, epoch_of(&o, 0), 1);
        }
    o.index_path = index_path;
    expect_same(one, epoch_of(&o, 0), 1);
    /* Another epoch or seed, another order. */
    struct epoch *other = epoch_of(&o, 1);
    assert_memory_not_equal(one->ids, other->ids, sizeof one->ids);
    free(other);
    o.seed = 6;
    other = epoch_of(&o, 0);
    assert_memory_not_equal(one->ids, other->ids, sizeof one->ids);
    free(other);
    o.seed = 5;
    o.augment.rand_mirror = 0;
    expect_same(one, epoch_of(&o, 0), 0);
    free(one);
}

static void epochs(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    o.shuffle = 1;
    struct cvp_io_image_iter *it = NULL;
    struct epoch *e = malloc(sizeof *e);
    expect_ok(cvp_io_image_iter_create(&o, &it));
    for (uint64_t n = 0; n < 3; n++) {
        if (n) expect_ok(cvp_io_image_iter_epoch(it, n));
        run_epoch(it, e);
        expect_same(e, epoch_of(&o, n), 1); /* without those before it */
    }
    /* In the middle of one. */
    static float data[BATCH * 3 * SIDE * SIDE], labels[BATCH * 2];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    expect_ok(cvp_io_image_iter_epoch(it, 7));
    expect_ok(cvp_io_image_iter_next(it, &b));
    expect_ok(cvp_io_image_iter_epoch(it, 2));
    struct epoch *again = malloc(sizeof *again);
    run_epoch(it, again);
    expect_same(e, again, 1);
    expect_ok(cvp_io_image_iter_next(it, &b)); /* the end stays the end */
    assert_int_equal(b.count, 0);
    cvp_io_image_iter_destroy(&it);
    free(e);
}

static void without_rounding(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    o.round_batch = 0;
    o.augment.mean[0] = -1; /* so that no good image has a 0 there */
    struct epoch *e = epoch_of(&o, 0);
    assert_true(e->count == IMAGES && e->pad == 1);
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        assert_true(e->data[IMAGES * 3 * SIDE * SIDE + i] == 0);
    assert_true(e->data[0] != 0 && e->labels[2 * IMAGES + 1] == 0);
    free(e);
}

static void parts_and_bounds(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    int seen[IMAGES] = {0};
    o.num_parts = 5;
    for (o.part = 0; o.part < 5; o.part++) {
        struct epoch *e = epoch_of(&o, 0);
        assert_true(e->count == 4 || e->count == 5);
        for (int i = 0; i < e->count; i++) seen[e->ids[i]]++;
        free(e);
    }
    for (int i = 0; i < IMAGES; i++) assert_int_equal(seen[i], 1);
    o = usual();
    o.max_images = 3;
    struct epoch *e = epoch_of(&o, 0);
    assert_true(e->count == 3 && e->pad == 1 && e->ids[3] == e->ids[0]);
    free(e);
    /* Fewer images than a batch: around more than once. */
    o.max_images = 1;
    e = epoch_of(&o, 0);
    assert_true(e->count == 1 && e->pad == 3 && e->ids[3] == 0);
    free(e);
    struct cvp_io_image_iter *it = NULL;
    o = usual();
    o.num_parts = IMAGES + 1;
    o.part = IMAGES;
    assert_int_equal(cvp_io_image_iter_create(&o, &it), CONVOP_E_INVALID);
}

static void bad_images(void **state)
{
    (void)state;
    static const int bad[] = {0, 5, 6, 7, 8, 9, 22, -1};
    const char *path = test_path("bad.rec"), *all_bad = test_path("all.rec");
    test_image_file(path, NULL, IMAGES, 20, 16, 2, bad);
    struct cvp_io_image_iter_options o = usual();
    o.path = path;
    o.skip_bad = 1;
    for (int threads = 0; threads <= 4; threads += 2) {
        o.threads = threads;
        struct cvp_io_image_iter *it = NULL;
        struct epoch *e = malloc(sizeof *e);
        expect_ok(cvp_io_image_iter_create(&o, &it));
        for (uint64_t n = 0; n < 2; n++) {
            expect_ok(cvp_io_image_iter_epoch(it, n));
            run_epoch(it, e);
            assert_true(e->count == 16 && e->pad == 0);
            for (int i = 0; i < 16; i++) assert_true(e->labels[2 * i] == (float)e->ids[i]);
            assert_true(e->ids[0] == 1 && e->ids[4] == 10 && e->ids[15] == 21);
            struct cvp_io_image_iter_counts counts;
            cvp_io_image_iter_counts(it, &counts);
            assert_true(counts.images == 16 && counts.bad == 7 && counts.damaged == 0);
            assert_non_null(strstr(cvp_io_image_iter_last_bad(it), "record 22 at offset"));
        }
        cvp_io_image_iter_destroy(&it);
        free(e);
    }
    /* Not skipped: the error comes at its place, and stays. */
    o.skip_bad = 0;
    static float data[BATCH * 3 * SIDE * SIDE], labels[BATCH * 2];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    struct cvp_io_image_iter *it = NULL;
    expect_ok(cvp_io_image_iter_create(&o, &it));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cvp_io_image_iter_next(it, &b), CONVOP_E_INVALID);
        assert_non_null(strstr(convop_last_error(), "record 0 at offset 0: "));
        assert_non_null(strstr(convop_last_error(), path));
    }
    cvp_io_image_iter_destroy(&it);
    /* Nothing good at all is an error and no endless search. */
    static const int three[] = {0, 1, 2, -1};
    test_image_file(all_bad, NULL, 3, 20, 16, 2, three);
    o.path = all_bad;
    o.skip_bad = 1;
    expect_ok(cvp_io_image_iter_create(&o, &it));
    assert_int_equal(cvp_io_image_iter_next(it, &b), CONVOP_E_INVALID);
    assert_true(test_mentions(convop_last_error(), "none of its 3 images"));
    cvp_io_image_iter_destroy(&it);
}

static void options_that_make_no_sense(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o[10];
    struct cvp_io_image_iter *it = NULL;
    for (int i = 0; i < 10; i++) o[i] = usual();
    o[0].path = NULL;
    o[1].batch = 0;
    o[2].label_width = 0;
    o[3].threads = -1;
    o[4].part = 1;
    o[5].augment.width = 0;
    o[6].max_images = -1;
    o[7].prefetch = -1;
    o[8].index_path = record_path; /* no text */
    for (int i = 0; i < 9; i++)
        assert_int_equal(cvp_io_image_iter_create(&o[i], &it), CONVOP_E_INVALID);
    o[9].path = "/nonexistent.rec";
    assert_int_equal(cvp_io_image_iter_create(&o[9], &it), CONVOP_E_IO);
    assert_null(it);
    /* Another number of labels than the records have. */
    struct cvp_io_image_iter_options one = usual();
    one.label_width = 1;
    static float data[BATCH * 3 * SIDE * SIDE], labels[BATCH * 2];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    expect_ok(cvp_io_image_iter_create(&one, &it));
    assert_int_equal(cvp_io_image_iter_next(it, &b), CONVOP_E_INVALID);
    assert_true(test_mentions(convop_last_error(), "label_width"));
    cvp_io_image_iter_destroy(&it);
}

/* In a child the parent's iterator says so, and one of its own works. */
static int in_child(void *arg)
{
    struct cvp_io_image_iter *mine = arg;
    static float data[BATCH * 3 * SIDE * SIDE], labels[BATCH * 2];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    if (cvp_io_image_iter_next(mine, &b) != CONVOP_E_STATE) return 2;
    if (cvp_io_image_iter_epoch(mine, 1) != CONVOP_E_STATE) return 3;
    cvp_io_image_iter_destroy(&mine);
    struct cvp_io_image_iter_options o = usual();
    o.threads = TEST_CHILD_MAY_THREAD ? 2 : 0;
    if (cvp_io_image_iter_create(&o, &mine) != CONVOP_OK) return 4;
    int count = 0;
    do {
        if (cvp_io_image_iter_next(mine, &b) != CONVOP_OK) return 5;
        count += b.count;
    } while (b.count);
    cvp_io_image_iter_destroy(&mine);
    return count == IMAGES ? 0 : 6;
}

static void fork_while_reading(void **state)
{
    (void)state;
    /* The child frees memory while the parent's threads may have held a sanitizer's locks. */
    if (!TEST_CHILD_MAY_THREAD) skip();
    struct cvp_io_image_iter_options o = usual();
    struct epoch *wanted = epoch_of(&o, 0), *e = malloc(sizeof *e);
    struct cvp_io_image_iter *it = NULL;
    expect_ok(cvp_io_image_iter_create(&o, &it));
    for (int i = 0; i < 5; i++) {
        expect_ok(cvp_io_image_iter_epoch(it, 0));
        const pid_t child = test_fork(in_child, it); /* its threads are at work */
        run_epoch(it, e);
        assert_int_equal(test_reap(child), 0);
        assert_memory_equal(wanted, e, sizeof *e);
    }
    cvp_io_image_iter_destroy(&it);
    free(wanted);
    free(e);
}

static void close_at_any_time(void **state)
{
    (void)state;
    struct cvp_io_image_iter_options o = usual();
    static float data[BATCH * 3 * SIDE * SIDE], labels[BATCH * 2];
    struct cvp_io_batch b = {data, labels, NULL, 0, 0};
    for (int round = 0; round < 60; round++) {
        struct cvp_io_image_iter *it = NULL;
        o.threads = round % 5;
        o.prefetch = round % 3;
        expect_ok(cvp_io_image_iter_create(&o, &it));
        for (int i = 0; i < round % 7; i++) expect_ok(cvp_io_image_iter_next(it, &b));
        if (round % 2) expect_ok(cvp_io_image_iter_epoch(it, 3));
        cvp_io_image_iter_destroy(&it);
        cvp_io_image_iter_destroy(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_once),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(epochs),
        cmocka_unit_test(without_rounding),
        cmocka_unit_test(parts_and_bounds),
        cmocka_unit_test(bad_images),
        cmocka_unit_test(options_that_make_no_sense),
        cmocka_unit_test(fork_while_reading),
        cmocka_unit_test(close_at_any_time),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
