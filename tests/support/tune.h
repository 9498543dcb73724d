/* A tuning cache for tests: a folder of its own, records by number, files as bytes. */
#ifndef CVP_TESTS_TUNE_H
#define CVP_TESTS_TUNE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convop/settings.h"
#include "src/common/alloc.h"
#include "src/operator/tuning/tuning.h"

/* Ends the program, be it a forked child, where cmocka's assertions would run on in its parent's
 * list of tests. */
#define TUNE_CHECK(holds)                                                                          \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #holds);             \
            fflush(stderr);                                                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static char tune_folder[256], tune_file[300];

static inline int tune_remove_one(const char *path, const struct stat *s, int kind, struct FTW *f)
{
    (void)s, (void)kind, (void)f;
    return remove(path);
}

/* For the end of the program, in the process that called tune_begin. */
static inline void tune_remove_folder(void)
{
    nftw(tune_folder, tune_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A new folder, which is not yet the setting's; nothing is known. */
static inline void tune_make_folder(void)
{
    TUNE_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    TUNE_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_OK);
    /* In memory, where there is such a folder: on a busy disk an fsync() takes seconds. */
    const char *tmp = getenv("TMPDIR");
    if (!tmp) tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(tune_folder, sizeof tune_folder, "%s/convop-tune-XXXXXX", tmp);
    TUNE_CHECK(mkdtemp(tune_folder) != NULL);
    snprintf(tune_file, sizeof tune_file, "%s/tuning.tsv", tune_folder);
}

/* A new folder, and the cache lies in it. */
static inline void tune_begin(void)
{
    tune_make_folder();
    TUNE_CHECK(convop_set("cache_dir", tune_folder) == CONVOP_OK);
}

/* The two as cmocka wants them, before and after a test. */
static inline int tune_setup(void **state)
{
    (void)state;
    tune_begin();
    return 0;
}

static inline int tune_teardown(void **state)
{
    (void)state;
    tune_remove_folder();
    return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* A new file: some file systems wait for the disk when one is cut and written again. */
static inline void tune_write(const char *path, const char *bytes, size_t length)
{
    (void)unlink(path);
    FILE *f = fopen(path, "wb");
    TUNE_CHECK(f != NULL);
    TUNE_CHECK(fwrite(bytes, 1, length, f) == length);
    TUNE_CHECK(fclose(f) == 0);
}

/* All of a file, ended with a 0; the caller frees it. An absent one is empty. */
static inline char *tune_read(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    size_t room = 1 << 16, n = 0;
    char *bytes = malloc(room + 1);
    TUNE_CHECK(bytes != NULL);
    while (f) {
        n += fread(bytes + n, 1, room - n, f);
        if (n < room) break;
        bytes = realloc(bytes, 2 * room + 1);
        TUNE_CHECK(bytes != NULL);
        room *= 2;
    }
    if (f) fclose(f);
    bytes[n] = '\0';
    if (length) *length = n;
    return bytes;
}

/* How often a text occurs in a file. */
static inline size_t tune_occurs(const char *path, const char *text)
{
    size_t count = 0;
    char *bytes = tune_read(path, NULL);
    for (const char *at = bytes; (at = strstr(at, text)) != NULL; at++) count++;
    free(bytes);
    return count;
}

/* ---- records -------------------------------------------------------------------------------- */

struct tune_key {
    char problem[64];
    struct cvp_tune_key key;
};

static inline void tune_key(struct tune_key *k, int i)
{
    snprintf(k->problem, sizeof k->problem, "g1mb1ic%dih14oc64oh12kh3", i);
    k->key = (struct cvp_tune_key){"cpu=Test CPU;isa=avx2;threads=4", "convop=1", k->problem};
}

/* The i-th record: its numbers follow from i, so that a mixed one is seen. */
static inline convop_status tune_put(int i)
{
    struct tune_key k;
    tune_key(&k, i);
    struct cvp_tune_choice choice = {.impl_version = i % 1000,
                                     .ms = i / 8.0,
                                     .estimated_ms = i / 4.0,
                                     .workspace_bytes = (uint64_t)i * 64};
    snprintf(choice.impl, sizeof choice.impl, "impl%d", i);
    return cvp_tune_store(&k.key, &choice);
}

/* 1: found, and as it was stored; 0: not found; another number: mixed up. */
static inline int tune_get(int i)
{
    struct tune_key k;
    tune_key(&k, i);
    struct cvp_tune_choice choice;
    char impl[64];
    snprintf(impl, sizeof impl, "impl%d", i);
    if (!cvp_tune_lookup(&k.key, &choice)) return 0;
    int right = strcmp(choice.impl, impl) == 0 && choice.impl_version == i % 1000 &&
                choice.ms == i / 8.0 && choice.estimated_ms == i / 4.0 &&
                choice.workspace_bytes == (uint64_t)i * 64 && choice.plan == NULL;
    cvp_free(choice.plan);
    return right ? 1 : -1;
}

/* Reads the file again, however short a time ago it was read; returns how many records are known.
 */
static inline size_t tune_count(void)
{
    convop_tune_listing *listing = NULL;
    TUNE_CHECK(convop_tune_list(NULL, &listing) == CONVOP_OK);
    size_t count = convop_tune_listing_count(listing);
    convop_tune_listing_destroy(&listing);
    return count;
}

#endif
