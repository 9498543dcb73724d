/* What the tests of io/ share: folders and files that go away again, bytes from hex, pictures. */
#ifndef TESTS_IO_SUPPORT_H
#define TESTS_IO_SUPPORT_H

#include <jansson.h>
#include <stddef.h>

#include "io/image.h"
#include "io/record.h"

/* "FOLDER/name" in a folder of this process that is removed at its end; the text stays valid. */
const char *test_path(const char *name);

/* All end the program with a message on failure. */
void test_write(const char *path, const void *data, size_t bytes);
struct cvp_io_record test_read(const char *path);
struct cvp_io_record test_hex(const char *hex);
json_t *test_json(const char *path);

/* Smooth, of other colours for another `kind`. */
void test_picture(struct cvp_io_image *image, int width, int height, int channels, int kind);

/* A record file of n JPEG pictures of the given size and its index: record i has id i, label i (and
 * i + 0.5 where two are asked for) and kind i. Records listed in bad (ends with -1) hold no image.
 * index NULL: none. */
void test_image_file(const char *path, const char *index, int n, int width, int height, int labels,
                     const int *bad);

/* One of the words "a|b|c" is in text, in any case. */
int test_mentions(const char *text, const char *words);

#endif
