/* Records in memory: a hash table with an order in which they go. It locks nothing and allocates
 * nothing while it is changed; store.c holds the lock, and gives back what is left over after it.
 */
#ifndef CVP_TUNING_INDEX_H
#define CVP_TUNING_INDEX_H

#include "src/operator/tuning/record.h"

/* So many records are kept; the oldest goes first, but one that was used since it came, or since it
 * was passed over, is passed over once more. With their 100 bytes and the lines of usual records
 * that is 30 MB. */
#define CVP_TUNE_MAX_RECORDS 65536

struct cvp_tune_record {
    const char *line; /* a CVP_TUNE_CHOICE, in the batch's text */
    size_t length;
    uint64_t hash;
    struct cvp_tune_batch *batch;
    struct cvp_tune_record *next;          /* of the same bucket */
    struct cvp_tune_record *newer, *older; /* in the order in which they go */
    int used;                              /* a look-up found it */
    int held;                              /* it is in an index */
    int unsaved;                           /* it is in no file, or was not when it came */
    int dropped;                           /* no answer; whatever comes replaces it */
};

/* Records that came together, and their text: a file's, or one. */
struct cvp_tune_batch {
    size_t refs; /* records in an index, and readers; guarded by the lock */
    struct cvp_tune_batch *next;
    char *text;        /* ends with a 0 */
    size_t text_bytes; /* of the buffer it is; 0: it is an object */
    size_t count;
    struct cvp_tune_record *records;
};

struct cvp_tune_index {
    struct cvp_tune_record **buckets; /* NULL: `only` is the one */
    struct cvp_tune_record *only;
    size_t num_buckets;  /* 0, or a power of two */
    size_t count, limit; /* limit 0: none */
    struct cvp_tune_record *newest, *oldest;
};

/* Batches that nobody refers to any more, to be freed once the lock is free. */
struct cvp_tune_leftovers {
    struct cvp_tune_batch *first;
};
void cvp_tune_free_leftovers(struct cvp_tune_leftovers *left);

/* Takes over the text; without memory frees it and answers NULL. The caller fills records, up to
 * room, and counts them. */
struct cvp_tune_batch *cvp_tune_batch_create(char *text, size_t text_bytes, size_t room);
void cvp_tune_batch_free(struct cvp_tune_batch *batch);
void cvp_tune_batch_unref(struct cvp_tune_batch *batch, struct cvp_tune_leftovers *left);

/* NULL: none. One that is found counts as used; its neighbours are not touched, which are far from
 * any cache when a process looks up its first problems. */
struct cvp_tune_record *cvp_tune_index_find(struct cvp_tune_index *index,
                                            const struct cvp_tune_key *key, uint64_t hash);

/* The one with the same key as a CVP_TUNE_CHOICE. */
struct cvp_tune_record *cvp_tune_index_match(struct cvp_tune_index *index, const char *line,
                                             uint64_t hash);

/* Of equal keys the later `when` stays, of equal ones the record that comes. 0: it is not taken, 1:
 * its key is new, 2: it replaces one. Refers to its batch; one that is too many goes. */
int cvp_tune_index_insert(struct cvp_tune_index *index, struct cvp_tune_record *record,
                          struct cvp_tune_leftovers *left);
/* Inserts the records of a batch; returns how many of them, or of those that were there, others
 * supersede. */
size_t cvp_tune_index_add(struct cvp_tune_index *index, struct cvp_tune_batch *batch,
                          struct cvp_tune_leftovers *left);
void cvp_tune_index_remove(struct cvp_tune_index *index, struct cvp_tune_record *record,
                           struct cvp_tune_leftovers *left);
void cvp_tune_index_clear(struct cvp_tune_index *index, struct cvp_tune_leftovers *left);

/* Buckets that it wants for `count` records, 0 if it has them; and takes them: of the two lists one
 * is the caller's to cvp_free. It works, more slowly, without. */
size_t cvp_tune_index_wants(const struct cvp_tune_index *index, size_t count);
struct cvp_tune_record **cvp_tune_index_grow(struct cvp_tune_index *index,
                                             struct cvp_tune_record **buckets, size_t num_buckets);

#endif
