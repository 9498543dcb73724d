/* Inputs that have broken other readers of record files and JPEG images: cases.json, a case a line.
 * A case names its file in hex and either words of the error or what is to come out, which is in
 * the table below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/decode.h"
#include "io/image_record.h"
#include "io/record_index.h"
#include "io/record_reader.h"
#include "io/record_writer.h"
#include "tests/io/case.h"
#include "tests/io/support.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"

json_t *cases;

/* What comes out of the record files without an error, in the words of the cases. */
static const struct {
    const char *id, *hex;
} payloads[] = {
    {"rec.trunc_padding", "68656c6c6f"},
    {"rec.magic_in_payload_aligned", "686561640a23d7ce7461696c3132"},
    {"rec.magic_in_payload_unaligned", "780a23d7ce797a"},
};

static const char *payload_of(json_t *c)
{
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++)
        if (case_is(c, payloads[i].id)) return payloads[i].hex;
    return NULL;
}

static void check_labels(const struct cvp_io_record *record)
{
    struct cvp_io_image_record image;
    expect_ok(cvp_io_image_record_parse(record->data, record->size, &image));
    assert_true(image.num_labels == 3 && image.id == 7);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(cvp_io_image_record_label(&image, i) == (float)(i + 1));
    assert_int_equal(image.image_bytes, 3);
    assert_memory_equal(image.image, "IMG", 3);
}

/* Reads to the end or to the first error, parsing images where the case says so. */
static convop_status read_all(const struct cvp_io_record_reader *r, int parse,
                              struct cvp_io_record *record)
{
    struct cvp_io_record_cursor c = {0, 0};
    convop_status status = CONVOP_OK;
    while (status == CONVOP_OK && !cvp_io_record_at_end(r, &c)) {
        const struct cvp_io_record_cursor here = c;
        status = cvp_io_record_read(r, &c, record);
        struct cvp_io_image_record image;
        if (status != CONVOP_OK || !parse) continue;
        status = cvp_io_image_record_parse(record->data, record->size, &image);
        if (status != CONVOP_OK) status = cvp_io_record_blame(r, &here, status);
    }
    return status;
}

static void run_read(json_t *c)
{
    const char *path = test_path("case.rec");
    struct cvp_io_record file = test_hex(case_text(case_params(c), "file_hex")), record = {0};
    test_write(path, file.data, file.size);
    struct cvp_io_record_reader *r = NULL;
    expect_ok(cvp_io_record_open(path, &r));
    const convop_status status = read_all(r, *case_text(case_params(c), "parse") != 0, &record);
    if (json_object_get(case_params(c), "error")) {
        case_expect_error(c, status, "offset");
        assert_non_null(strstr(convop_last_error(), path));
    } else if (case_is(c, "rec.irheader_label_vec")) {
        expect_ok(status);
        check_labels(&record);
    } else {
        expect_ok(status);
        assert_non_null(payload_of(c));
        struct cvp_io_record wanted = test_hex(payload_of(c));
        assert_int_equal(record.size, wanted.size);
        assert_memory_equal(record.data, wanted.data, wanted.size);
        cvp_io_record_free(&wanted);
    }
    cvp_io_record_close(&r);
    cvp_io_record_free(&file);
    cvp_io_record_free(&record);
}

/* A file of numbers, read in shares by children or threads through one reader. */
struct share {
    const struct cvp_io_record_reader *reader;
    const struct cvp_io_record_index *index;
    int part, parts, records;
};

static int read_share(void *arg)
{
    const struct share *s = arg;
    struct cvp_io_record record = {0};
    for (int i = s->part; i < s->records; i += s->parts) {
        struct cvp_io_record_cursor at = {s->index->entries[i].offset, i};
        int number;
        if (cvp_io_record_read(s->reader, &at, &record) != CONVOP_OK) return 2;
        if (record.size != 4 + (size_t)(i % 9)) return 3;
        memcpy(&number, record.data, sizeof number);
        if (number != i) return 4;
    }
    cvp_io_record_free(&record);
    return 0;
}

static void *read_share_thread(void *arg)
{
    return read_share(arg) ? arg : NULL;
}

static void run_shared(json_t *c)
{
    const char *path = test_path("shared.rec"), *index_path = test_path("shared.idx");
    const int fork = json_object_get(case_params(c), "processes") != NULL;
    const int n = 1000, parts = 4;
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(path, index_path, &w));
    for (int i = 0; i < n; i++) {
        char data[16] = "";
        memcpy(data, &i, sizeof i);
        expect_ok(cvp_io_record_write(w, (uint64_t)i, data, 4 + (size_t)(i % 9)));
    }
    expect_ok(cvp_io_record_commit(&w));
    struct cvp_io_record_reader *r = NULL;
    struct cvp_io_record_index index;
    expect_ok(cvp_io_record_open(path, &r));
    expect_ok(cvp_io_index_load(index_path, &index));
    struct share shares[4];
    pid_t children[4];
    pthread_t threads[4];
    for (int i = 0; i < parts; i++) {
        shares[i] = (struct share){r, &index, i, parts, n};
        if (fork)
            children[i] = test_fork(read_share, &shares[i]);
        else
            assert_int_equal(pthread_create(&threads[i], NULL, read_share_thread, &shares[i]), 0);
    }
    for (int i = 0; i < parts; i++) {
        void *wrong = NULL;
        if (fork)
            assert_int_equal(test_reap(children[i]), 0);
        else
            assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    cvp_io_index_free(&index);
    cvp_io_record_close(&r);
}

static void run_index(json_t *c)
{
    const char *index_path = test_path("case.idx"), *path = test_path("case.rec");
    const char *text = case_text(case_params(c), "idx_text");
    struct cvp_io_record file = test_hex(case_text(case_params(c), "file_hex"));
    test_write(index_path, text, strlen(text));
    test_write(path, file.data, file.size);
    cvp_io_record_free(&file);
    struct cvp_io_record_index index;
    convop_status status = cvp_io_index_load(index_path, &index);
    if (status != CONVOP_OK) {
        assert_true(case_is(c, "rec.idx_minus1") || case_is(c, "rec.idx_dup_or_text"));
        case_expect_error(c, status, "line");
        return;
    }
    struct cvp_io_record_reader *r = NULL;
    struct cvp_io_record record = {0};
    expect_ok(cvp_io_record_open(path, &r));
    for (size_t i = 0; i < index.count && status == CONVOP_OK; i++) {
        struct cvp_io_record_cursor at = {index.entries[i].offset, (int64_t)i};
        status = cvp_io_record_read(r, &at, &record);
    }
    case_expect_error(c, status, path);
    cvp_io_record_close(&r);
    cvp_io_record_free(&record);
    cvp_io_index_free(&index);
}

static void run_write(json_t *c)
{
    const size_t bytes = (size_t)json_integer_value(json_object_get(case_params(c), "payload_len"));
    void *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(test_path("long.rec"), NULL, &w));
    case_expect_error(c, cvp_io_record_write(w, 0, pages, bytes), NULL);
    assert_int_equal(cvp_io_record_written(w), 0);
    cvp_io_record_discard(&w);
    munmap(pages, bytes);
}

/* Flat pictures: every pixel is rgb +- tolerance (one value where a channel was asked for). error
 * 1: an error may come instead, whose text has one of the words; warning 1: a warning must come
 * with the picture. */
static const struct picture {
    const char *id;
    int size, rgb[3], tolerance, error, warning;
    const char *words;
} pictures[] = {
    {"jpg.gray_keep", 8, {200}, 1, 0, 0, ""},
    {"jpg.rgb_to_gray", 8, {168}, 2, 0, 0, ""},
    {"jpg.cmyk_adobe", 8, {207, 180, 152}, 3, 0, 0, ""},
    {"jpg.ycck", 0, {0}, 255, 1, 0, "CMYK|YCCK"},
    {"jpg.cmyk_no_adobe", 0, {0}, 255, 1, 0, ""},
    {"jpg.1x1", 1, {77, 77, 77}, 1, 0, 0, ""},
    {"jpg.trunc_no_eoi", 64, {50, 50, 50}, 1, 0, 1, ""},
    {"jpg.bad_entropy", 64, {128, 128, 128}, 255, 0, 1, ""},
    {"jpg.app14_odd_len", 0, {0}, 255, 0, 0, ""},
};

static void check_picture(json_t *c, const struct cvp_io_image *image,
                          const struct cvp_io_decoder *decoder)
{
    const struct picture *p = NULL;
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++)
        if (case_is(c, pictures[i].id)) p = &pictures[i];
    if (!p) fail_msg("%s: no picture is known", case_text(c, "id"));
    if (p->size) assert_true(image->width == p->size && image->height == p->size);
    for (int i = 0; i < image->width * image->height * image->channels; i++)
        if (abs(image->data[i] - p->rgb[i % image->channels]) > p->tolerance)
            fail_msg("%s: %d at %d", p->id, image->data[i], i);
    assert_int_equal(decoder->warning[0] != 0, p->warning);
}

static void run_decode(json_t *c)
{
    struct cvp_io_record file = test_hex(case_text(case_params(c), "file_hex"));
    const json_t *asked = json_object_get(case_params(c), "request_channels");
    const int channels = asked ? (int)json_integer_value(asked) : 3;
    struct cvp_io_decoder decoder = {0};
    struct cvp_io_image image = {0};
    /* An exact copy, so that reading past the end is seen. */
    unsigned char *copy = malloc(file.size ? file.size : 1);
    if (file.size) memcpy(copy, file.data, file.size);
    const convop_status status = cvp_io_decode(&decoder, copy, file.size, channels, &image);
    if (json_object_get(case_params(c), "error")) {
        case_expect_error(c, status, NULL);
    } else {
        expect_ok(status);
        assert_int_equal(image.channels, channels);
        check_picture(c, &image, &decoder);
    }
    if (case_is(c, "jpg.app14_odd_len")) {
        /* As the file with a marker of the usual length; its colours are no grays. */
        struct cvp_io_record plain = case_file("jpg.rgb_to_gray");
        struct cvp_io_image other = {0};
        expect_ok(cvp_io_decode(&decoder, plain.data, plain.size, 3, &other));
        assert_true(other.width == image.width && other.height == image.height);
        assert_memory_equal(other.data, image.data,
                            (size_t)(image.width * image.height * image.channels));
        assert_true(image.data[0] != image.data[2]);
        cvp_io_record_free(&plain);
        cvp_io_image_free(&other);
    }
    free(copy);
    cvp_io_record_free(&file);
    cvp_io_image_free(&image);
    cvp_io_decoder_free(&decoder);
}

static void run_case(json_t *c)
{
    static const struct {
        const char *id;
        void (*run)(json_t *c);
    } by_id[] =
        {
            {"rec.fork_readers", run_shared},
            {"rec.thread_readers", run_shared},
            {"iter.one_bad_of_ten", case_one_bad_of_ten},
            {"iter.smaller_than_crop", case_smaller_than_crop},
            {"iter.close_early", case_close_early},
        },
      by_op[] = {
          {"recordio_read", run_read},
          {"recordio_write", run_write},
          {"recordio_index", run_index},
          {"jpeg_decode", run_decode},
      };
    for (size_t i = 0; i < sizeof by_id / sizeof by_id[0]; i++)
        if (case_is(c, by_id[i].id)) {
            by_id[i].run(c);
            return;
        }
    for (size_t i = 0; i < sizeof by_op / sizeof by_op[0]; i++)
        if (strcmp(case_text(c, "op"), by_op[i].id) == 0) {
            by_op[i].run(c);
            return;
        }
    fail_msg("%s: nothing runs it", case_text(c, "id"));
}

static void one_case(void **state)
{
    run_case(*state);
}

int main(int argc, char **argv)
{
    cases = test_json(argc > 1 ? argv[1] : "cases.json");
    const size_t n = json_array_size(cases);
    struct CMUnitTest *tests = calloc(n, sizeof *tests);
    for (size_t i = 0; i < n; i++) {
        json_t *c = json_array_get(cases, i);
        tests[i] = (struct CMUnitTest){case_text(c, "id"), one_case, NULL, NULL, c};
    }
    const int failed = _cmocka_run_group_tests("cases", tests, n, NULL, NULL);
    free(tests);
    json_decref(cases);
    return failed || n < 35;
}
