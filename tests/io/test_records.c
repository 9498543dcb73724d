/* Record files: what MXNet wrote, random payloads, damage, several readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "io/image_record.h"
#include "io/record_index.h"
#include "io/record_reader.h"
#include "io/record_writer.h"
#include "tests/io/support.h"
#include "tests/support/child.h"
#include "tests/support/expect.h"
#include "tests/support/rng.h"

static const char *golden_path;

static void golden_files(void **state)
{
    (void)state;
    json_t *golden = test_json(golden_path);
    const json_t *payloads = json_object_get(golden, "payloads_hex");
    const char *path = test_path("g.rec"), *index = test_path("g.idx");
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(path, index, &w));
    const size_t n = json_array_size(payloads);
    assert_true(n > 10);
    for (size_t i = 0; i < n; i++) {
        struct cvp_io_record p = test_hex(json_string_value(json_array_get(payloads, i)));
        expect_ok(cvp_io_record_write(w, 3 * i + 1, p.data, p.size));
        cvp_io_record_free(&p);
    }
    expect_ok(cvp_io_record_commit(&w));
    struct cvp_io_record got = test_read(path);
    struct cvp_io_record wanted = test_hex(json_string_value(json_object_get(golden, "file_hex")));
    assert_int_equal(got.size, wanted.size);
    assert_memory_equal(got.data, wanted.data, wanted.size);
    cvp_io_record_free(&got);
    got = test_read(index);
    const char *text = json_string_value(json_object_get(golden, "index"));
    assert_int_equal(got.size, strlen(text));
    assert_memory_equal(got.data, text, got.size);

    struct cvp_io_record_reader *r = NULL;
    struct cvp_io_record_cursor c = {0, 0};
    expect_ok(cvp_io_record_open(path, &r));
    for (size_t i = 0; i < n; i++) {
        struct cvp_io_record p = test_hex(json_string_value(json_array_get(payloads, i)));
        assert_false(cvp_io_record_at_end(r, &c));
        expect_ok(cvp_io_record_read(r, &c, &got));
        assert_int_equal(got.size, p.size);
        if (p.size) assert_memory_equal(got.data, p.data, p.size);
        cvp_io_record_free(&p);
    }
    assert_true(cvp_io_record_at_end(r, &c));
    cvp_io_record_close(&r);
    cvp_io_record_free(&got);
    cvp_io_record_free(&wanted);
    json_decref(golden);
}

static void golden_image_records(void **state)
{
    (void)state;
    json_t *golden = test_json(golden_path), *item;
    size_t at;
    json_array_foreach(json_object_get(golden, "images"), at, item)
    {
        float labels[8];
        const json_t *list = json_object_get(item, "labels");
        const uint32_t n = (uint32_t)json_array_size(list);
        for (uint32_t i = 0; i < n; i++)
            labels[i] = (float)json_number_value(json_array_get(list, i));
        struct cvp_io_record image =
            test_hex(json_string_value(json_object_get(item, "image_hex")));
        struct cvp_io_record wanted =
            test_hex(json_string_value(json_object_get(item, "record_hex")));
        struct cvp_io_record got = {0};
        const uint64_t id = (uint64_t)json_integer_value(json_object_get(item, "id"));
        expect_ok(cvp_io_image_record_pack(&got, id, labels, n,
                                           json_integer_value(json_object_get(item, "vector")) != 0,
                                           image.data, image.size));
        assert_int_equal(got.size, wanted.size);
        assert_memory_equal(got.data, wanted.data, wanted.size);
        struct cvp_io_image_record parsed;
        expect_ok(cvp_io_image_record_parse(wanted.data, wanted.size, &parsed));
        assert_true(parsed.id == id && parsed.id2 == 0 && parsed.num_labels == n);
        for (uint32_t i = 0; i < n; i++)
            assert_true(cvp_io_image_record_label(&parsed, i) == labels[i]);
        assert_int_equal(parsed.image_bytes, image.size);
        assert_memory_equal(parsed.image, image.data, image.size);
        cvp_io_record_free(&image);
        cvp_io_record_free(&wanted);
        cvp_io_record_free(&got);
    }
    json_decref(golden);
}

/* Bytes that are often the magic word or a part of it. */
static void random_payload(struct rng *rng, struct cvp_io_record *p)
{
    static const unsigned char magic[4] = {0x0a, 0x23, 0xd7, 0xce};
    const size_t n = (size_t)rng_int(rng, 0, rng_chance(rng, 10) ? 5000 : 40);
    expect_ok(cvp_io_record_reserve(p, n + 4));
    for (p->size = 0; p->size < n;) {
        const size_t part = rng_chance(rng, 70) ? 4 : (size_t)rng_int(rng, 1, 3);
        if (rng_chance(rng, 50))
            memcpy(p->data + p->size, magic, part);
        else
            for (size_t i = 0; i < part; i++) p->data[p->size + i] = (unsigned char)rng_next(rng);
        p->size += part;
    }
}

static void random_payloads(void **state)
{
    (void)state;
    const uint64_t seed = test_seed(1);
    const int64_t files = test_scaled(20);
    const char *path = test_path("r.rec"), *index_path = test_path("r.idx");
    struct cvp_io_record p = {0}, got = {0};
    for (int64_t f = 0; f < files; f++) {
        struct rng rng = {seed + (uint64_t)f};
        const int n = (int)rng_int(&rng, 1, 60);
        struct cvp_io_record_writer *w = NULL;
        expect_ok(cvp_io_record_create(path, index_path, &w));
        for (int i = 0; i < n; i++) {
            random_payload(&rng, &p);
            expect_ok(cvp_io_record_write(w, (uint64_t)(n - i), p.data, p.size));
        }
        expect_ok(cvp_io_record_commit(&w));

        struct cvp_io_record_index index;
        struct cvp_io_record_reader *r = NULL;
        struct cvp_io_record_cursor c = {0, 0}, skip = {0, 0};
        expect_ok(cvp_io_index_load(index_path, &index));
        expect_ok(cvp_io_record_open(path, &r));
        assert_int_equal(index.count, n);
        rng.state = seed + (uint64_t)f;
        rng_next(&rng);
        for (int i = 0; i < n; i++) {
            size_t entry;
            expect_ok(cvp_io_index_find(&index, (uint64_t)(n - i), &entry));
            assert_int_equal(entry, i);
            assert_true(index.entries[entry].offset == c.offset && c.number == i);
            random_payload(&rng, &p);
            expect_ok(cvp_io_record_read(r, &c, &got));
            expect_ok(cvp_io_record_read(r, &skip, NULL));
            assert_true(skip.offset == c.offset && skip.number == c.number);
            assert_int_equal(got.size, p.size);
            if (p.size) assert_memory_equal(got.data, p.data, p.size);
        }
        assert_true(cvp_io_record_at_end(r, &c));
        cvp_io_index_free(&index);
        cvp_io_record_close(&r);
    }
    cvp_io_record_free(&p);
    cvp_io_record_free(&got);
}

/* Any byte of a file changed, or the file cut anywhere: an answer, never a crash or another
 * record's bytes; the sanitizers watch. */
static void damaged_files(void **state)
{
    (void)state;
    struct rng rng = {test_seed(2)};
    const char *path = test_path("d.rec");
    struct cvp_io_record p = {0}, got = {0};
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(path, NULL, &w));
    for (int i = 0; i < 8; i++) {
        random_payload(&rng, &p);
        expect_ok(cvp_io_record_write(w, 0, p.data, p.size));
    }
    expect_ok(cvp_io_record_commit(&w));
    struct cvp_io_record file = test_read(path);
    for (int64_t i = test_scaled(400); i > 0; i--) {
        size_t n = file.size;
        const size_t at = (size_t)rng_int(&rng, 0, (int64_t)n - 1);
        const unsigned char old = file.data[at];
        if (rng_chance(&rng, 50))
            n = at;
        else
            file.data[at] ^= (unsigned char)(1 << rng_int(&rng, 0, 7));
        test_write(path, file.data, n);
        file.data[at] = old;
        struct cvp_io_record_reader *r = NULL;
        struct cvp_io_record_cursor c = {0, 0};
        expect_ok(cvp_io_record_open(path, &r));
        int records = 0;
        while (!cvp_io_record_at_end(r, &c)) {
            convop_status status = cvp_io_record_read(r, &c, &got);
            if (status != CONVOP_OK) {
                assert_int_equal(status, CONVOP_E_INVALID);
                assert_true(test_mentions(convop_last_error(), "at offset"));
                assert_non_null(strstr(convop_last_error(), path));
                break;
            }
            assert_true(++records <= 40);
        }
        cvp_io_record_close(&r);
    }
    cvp_io_record_free(&p);
    cvp_io_record_free(&got);
    cvp_io_record_free(&file);
}

static void no_record_files(void **state)
{
    (void)state;
    struct cvp_io_record_reader *r = NULL;
    assert_int_equal(cvp_io_record_open(test_path("nothing"), &r), CONVOP_E_IO);
    assert_int_equal(cvp_io_record_open("/dev/zero", &r), CONVOP_E_INVALID);
    assert_int_equal(cvp_io_record_open(test_path(""), &r), CONVOP_E_INVALID);
    assert_null(r);
    test_write(test_path("empty"), "", 0);
    expect_ok(cvp_io_record_open(test_path("empty"), &r));
    struct cvp_io_record_cursor c = {0, 0};
    assert_true(cvp_io_record_at_end(r, &c));
    assert_int_equal(cvp_io_record_read(r, &c, NULL), CONVOP_E_INVALID);
    cvp_io_record_close(&r);
    /* A record of nothing, into a buffer that is none yet. */
    static const unsigned char nothing[8] = {0x0a, 0x23, 0xd7, 0xce};
    struct cvp_io_record record = {0};
    test_write(test_path("nothing.rec"), nothing, sizeof nothing);
    expect_ok(cvp_io_record_open(test_path("nothing.rec"), &r));
    expect_ok(cvp_io_record_read(r, &c, &record));
    assert_true(record.size == 0 && cvp_io_record_at_end(r, &c));
    cvp_io_record_close(&r);
    cvp_io_record_close(&r);
}

/* A reader that many use, and its index. */
struct shared {
    struct cvp_io_record_reader *reader;
    struct cvp_io_record_index index;
    int part, parts;
};

#define SHARED_RECORDS 1000

/* Record i is the number i, i % 50 times. */
static void open_shared(struct shared *s)
{
    const char *path = test_path("s.rec"), *index = test_path("s.idx");
    struct cvp_io_record_writer *w = NULL;
    expect_ok(cvp_io_record_create(path, index, &w));
    for (int i = 0; i < SHARED_RECORDS; i++) {
        int numbers[50];
        for (int j = 0; j < 50; j++) numbers[j] = i;
        expect_ok(cvp_io_record_write(w, (uint64_t)i, numbers, (size_t)(i % 50) * sizeof(int)));
    }
    expect_ok(cvp_io_record_commit(&w));
    expect_ok(cvp_io_record_open(path, &s->reader));
    expect_ok(cvp_io_index_load(index, &s->index));
}

/* 0 if every parts-th record is right. */
static int read_share(void *arg)
{
    const struct shared *s = arg;
    struct cvp_io_record record = {0};
    int wrong = 0;
    for (int i = s->part; i < SHARED_RECORDS; i += s->parts) {
        size_t entry;
        if (cvp_io_index_find(&s->index, (uint64_t)i, &entry) != CONVOP_OK) return 2;
        struct cvp_io_record_cursor c = {s->index.entries[entry].offset, i};
        if (cvp_io_record_read(s->reader, &c, &record) != CONVOP_OK) return 3;
        wrong |= record.size != (size_t)(i % 50) * sizeof(int);
        for (int j = 0; j < i % 50 && !wrong; j++)
            wrong |= memcmp(record.data + (size_t)j * sizeof(int), &i, sizeof i) != 0;
    }
    cvp_io_record_free(&record);
    return wrong;
}

static void *read_share_thread(void *arg)
{
    return read_share(arg) ? arg : NULL;
}

static void one_reader_for_many(void **state)
{
    (void)state;
    struct shared s[4];
    pthread_t threads[4];
    pid_t children[4];
    open_shared(&s[0]);
    for (int i = 0; i < 4; i++) {
        s[i] = s[0];
        s[i].part = i;
        s[i].parts = 4;
        children[i] = test_fork(read_share, &s[i]);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_share_thread, &s[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(test_reap(children[i]), 0);
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    cvp_io_index_free(&s[0].index);
    cvp_io_record_close(&s[0].reader);
}

int main(int argc, char **argv)
{
    golden_path = argc > 1 ? argv[1] : "golden.json";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),    cmocka_unit_test(golden_image_records),
        cmocka_unit_test(random_payloads), cmocka_unit_test(damaged_files),
        cmocka_unit_test(no_record_files), cmocka_unit_test(one_reader_for_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
