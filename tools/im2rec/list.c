/* --list: the images below the root, shuffled, cut into chunks, and each into test, train and
 * validation part: names, borders and bytes are those of MXNet's im2rec.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/lst.h"
#include "tools/cli.h"
#include "tools/im2rec/im2rec.h"

#define SHUFFLE_SEED 100

static void exchange(void *user, size_t i, size_t j)
{
    struct im2rec_found *found = user, other = found[i];
    found[i] = found[j];
    found[j] = other;
}

/* Each folder that has images, with its label, in the order of the labels. */
static void print_labels(const struct im2rec_files *files)
{
    int64_t next = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct im2rec_found *f = &files->found[i];
        if (f->label != next) continue;
        const char *slash = strrchr(f->path, '/');
        printf("%.*s %lld\n", slash ? (int)(slash - f->path) : 1, slash ? f->path : ".",
               (long long)next++);
    }
}

/* Images [begin, end) of the list go to PREFIX<chunk><part>.lst. */
static int write_part(const struct im2rec_options *o, const struct im2rec_files *files,
                      size_t begin, size_t end, const char *chunk, const char *part)
{
    if (end > files->count) end = files->count;
    if (begin > end) begin = end;
    const size_t n = end - begin, size = strlen(o->prefix) + strlen(chunk) + 16;
    struct cvp_io_lst_entry *entries = calloc(n + 1, sizeof *entries);
    double *labels = calloc(n + 1, sizeof *labels);
    char *path = malloc(size);
    int status = CLI_OK;
    if (!entries || !labels || !path) {
        status = cli_fail("im2rec: no memory for a list of %zu images", n);
    } else {
        for (size_t i = 0; i < n; i++) {
            const struct im2rec_found *f = &files->found[begin + i];
            labels[i] = (double)f->label;
            entries[i] = (struct cvp_io_lst_entry){.index = (uint64_t)f->index,
                                                   .path = f->path,
                                                   .labels = &labels[i],
                                                   .num_labels = 1};
        }
        snprintf(path, size, "%s%s%s.lst", o->prefix, chunk, part);
        if (cvp_io_lst_write(path, entries, n) != CONVOP_OK)
            status = cli_fail("im2rec: %s", convop_last_error());
        else
            fprintf(stderr, "%s: %zu images\n", path, n);
    }
    free(entries);
    free(labels);
    free(path);
    return status;
}

static int write_chunk(const struct im2rec_options *o, const struct im2rec_files *files,
                       size_t begin, size_t size, const char *chunk)
{
    size_t end = begin + size < files->count ? begin + size : files->count;
    if (begin > end) begin = end;
    /* From the size of a full chunk, also in the last one, which may be smaller. */
    const size_t train = (size_t)((double)size * o->train_ratio);
    const size_t test = (size_t)((double)size * o->test_ratio);
    if (o->train_ratio == 1) return write_part(o, files, begin, end, chunk, "");
    const size_t test_end = begin + test < end ? begin + test : end;
    const size_t train_end = test_end + train < end ? test_end + train : end;
    int status = CLI_OK;
    if (o->test_ratio > 0) status = write_part(o, files, begin, test_end, chunk, "_test");
    if (status == CLI_OK && o->train_ratio + o->test_ratio < 1)
        status = write_part(o, files, train_end, end, chunk, "_val");
    if (status == CLI_OK) status = write_part(o, files, test_end, train_end, chunk, "_train");
    return status;
}

int im2rec_make_lists(const struct im2rec_options *options)
{
    const struct im2rec_options *o = options;
    struct im2rec_files files = {NULL, 0, 0};
    int status = im2rec_walk(o, &files);
    if (status == CLI_OK && files.count == 0)
        status = cli_fail("im2rec: %s: no image has one of the extensions%s", o->root,
                          o->recursive ? "" : " (--recursive looks into its folders too)");
    if (status == CLI_OK && files.count > UINT32_MAX)
        status = cli_fail("im2rec: %s: more than 2^32 - 1 images", o->root);
    if (status == CLI_OK) {
        if (o->recursive) print_labels(&files);
        if (o->shuffle) im2rec_python_shuffle(SHUFFLE_SEED, files.count, exchange, files.found);
    }
    const size_t chunks = (size_t)o->chunks, size = (files.count + chunks - 1) / chunks;
    for (size_t i = 0; i < chunks && status == CLI_OK; i++) {
        char chunk[24] = "";
        if (chunks > 1) snprintf(chunk, sizeof chunk, "_%zu", i);
        status = write_chunk(o, &files, i * size, size, chunk);
    }
    im2rec_files_free(&files);
    return status;
}
