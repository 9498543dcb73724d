/* convop im2rec: what its parts share. */
#ifndef IM2REC_H
#define IM2REC_H

#include <stddef.h>
#include <stdint.h>

#include "io/encode.h"

struct im2rec_options {
    const char *prefix, *root;
    /* lists */
    int list, recursive, shuffle;
    const char **exts; /* in lower case, each with its point */
    size_t num_exts;
    int chunks;
    double train_ratio, test_ratio;
    /* records */
    int pass_through, resize, center_crop, quality, num_thread, color, pack_label;
    int skip_bad, keep_damaged;
    enum cvp_io_encoding encoding;
};

/* An image that the walk through the root found. */
struct im2rec_found {
    char *path; /* relative to the root */
    int64_t index, label;
};

struct im2rec_files {
    struct im2rec_found *found;
    size_t count, capacity;
};

/* All answer an exit status after a sentence on stderr. */
int im2rec_walk(const struct im2rec_options *options, struct im2rec_files *files);
void im2rec_files_free(struct im2rec_files *files);
int im2rec_make_lists(const struct im2rec_options *options);
int im2rec_pack_lists(const struct im2rec_options *options);
int im2rec_pack(const struct im2rec_options *options, const char *list_path);

/* Exchanges in the order that Python's random.seed(seed); random.shuffle(list) gives: the n-th
 * call of exchange is its n-th exchange. n < 2^32. */
void im2rec_python_shuffle(uint32_t seed, size_t n,
                           void (*exchange)(void *user, size_t i, size_t j), void *user);

/* One line on stderr that a terminal sees change, or a line a second for everything else; nothing
 * within the first second. */
struct im2rec_progress {
    const char *what;
    uint64_t total;
    double begin, shown;
    int terminal, open_line;
};

struct im2rec_progress im2rec_progress_begin(const char *what, uint64_t total);
void im2rec_progress_show(struct im2rec_progress *progress, uint64_t done);
/* Ends the line. Gives the seconds since the beginning. */
double im2rec_progress_end(struct im2rec_progress *progress);

#endif
