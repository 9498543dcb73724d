#include "tests/io/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convop/base.h"
#include "io/encode.h"
#include "io/image_record.h"
#include "io/record_writer.h"

static char folder[64];
static pid_t owner;

static void die(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s (%s)\n", what, which, convop_last_error());
    exit(3);
}

static void remove_folder(void)
{
    if (getpid() != owner) return;
    DIR *d = opendir(folder);
    struct dirent *e;
    char path[512];
    while (d && (e = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

const char *test_path(const char *name)
{
    static char paths[64][160];
    static unsigned next;
    if (!folder[0]) {
        strcpy(folder, "/tmp/convop-io-XXXXXX");
        if (!mkdtemp(folder)) die("mkdtemp", folder);
        owner = getpid();
        atexit(remove_folder);
    }
    char *path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void test_write(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "w");
    if (!f || (bytes && fwrite(data, 1, bytes, f) != bytes) || fclose(f) != 0) die("write", path);
}

struct cvp_io_record test_read(const char *path)
{
    struct cvp_io_record r = {0};
    FILE *f = fopen(path, "r");
    if (!f) die("read", path);
    size_t n;
    do {
        if (cvp_io_record_reserve(&r, r.size + 65536) != CONVOP_OK) die("read", path);
        n = fread(r.data + r.size, 1, 65536, f);
        r.size += n;
    } while (n);
    fclose(f);
    return r;
}

struct cvp_io_record test_hex(const char *hex)
{
    struct cvp_io_record r = {0};
    if (cvp_io_record_reserve(&r, strlen(hex) / 2 + 1) != CONVOP_OK) die("hex", hex);
    for (unsigned byte; hex[0] && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        r.data[r.size++] = (unsigned char)byte;
    return r;
}

json_t *test_json(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json) die(path, error.text);
    return json;
}

void test_picture(struct cvp_io_image *image, int width, int height, int channels, int kind)
{
    if (cvp_io_image_reserve(image, width, height, channels) != CONVOP_OK) die("picture", "");
    unsigned char *p = image->data;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++)
                *p++ = (unsigned char)((2 * x * (c + 1) + 3 * y + 37 * kind) % 256 / 2 + 40 * c);
}

void test_image_file(const char *path, const char *index, int n, int width, int height, int labels,
                     const int *bad)
{
    struct cvp_io_record_writer *writer = NULL;
    struct cvp_io_encoder encoder = {0};
    struct cvp_io_image image = {0};
    struct cvp_io_record file = {0}, record = {0};
    if (cvp_io_record_create(path, index, &writer) != CONVOP_OK) die("create", path);
    for (int i = 0; i < n; i++) {
        const float label[2] = {(float)i, (float)i + 0.5f};
        test_picture(&image, width, height, 3, i);
        if (cvp_io_encode(&encoder, &image, CVP_IO_JPEG, 90, &file) != CONVOP_OK) die("encode", "");
        if (bad && *bad == i) {
            bad++;
            memset(file.data, 'x', file.size);
        }
        if (cvp_io_image_record_pack(&record, (uint64_t)i, label, (uint32_t)labels, labels > 1,
                                     file.data, file.size) != CONVOP_OK ||
            cvp_io_record_write(writer, (uint64_t)i, record.data, record.size) != CONVOP_OK)
            die("record", path);
    }
    if (cvp_io_record_commit(&writer) != CONVOP_OK) die("commit", path);
    cvp_io_encoder_free(&encoder);
    cvp_io_image_free(&image);
    cvp_io_record_free(&file);
    cvp_io_record_free(&record);
}

int test_mentions(const char *text, const char *words)
{
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        if (strcasestr(text, word)) return 1;
    return 0;
}
