/* Records in memory; see index.h. Buckets are chains through the records themselves, so that
 * changes need no memory. */
#include "src/operator/tuning/index.h"

#include "src/common/alloc.h"

/* ---- batches -------------------------------------------------------------------------------- */

static void free_text(char *text, size_t bytes)
{
    if (bytes)
        cvp_buffer_free(NULL, text, bytes);
    else
        cvp_free(text);
}

struct cvp_tune_batch *cvp_tune_batch_create(char *text, size_t text_bytes, size_t room)
{
    struct cvp_tune_batch *batch = cvp_calloc(1, sizeof *batch);
    if (batch) {
        batch->text = text;
        batch->text_bytes = text_bytes;
        batch->records = cvp_calloc(room, sizeof batch->records[0]);
        if (batch->records) return batch;
        cvp_tune_batch_free(batch);
        return NULL;
    }
    free_text(text, text_bytes);
    return NULL;
}

void cvp_tune_batch_free(struct cvp_tune_batch *batch)
{
    if (!batch) return;
    free_text(batch->text, batch->text_bytes);
    cvp_free(batch->records);
    cvp_free(batch);
}

void cvp_tune_batch_unref(struct cvp_tune_batch *batch, struct cvp_tune_leftovers *left)
{
    if (--batch->refs > 0) return;
    batch->next = left->first;
    left->first = batch;
}

void cvp_tune_free_leftovers(struct cvp_tune_leftovers *left)
{
    while (left->first) {
        struct cvp_tune_batch *batch = left->first;
        left->first = batch->next;
        cvp_tune_batch_free(batch);
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

static void unlink_order(struct cvp_tune_index *index, struct cvp_tune_record *r)
{
    *(r->newer ? &r->newer->older : &index->newest) = r->older;
    *(r->older ? &r->older->newer : &index->oldest) = r->newer;
}

static void link_newest(struct cvp_tune_index *index, struct cvp_tune_record *r)
{
    r->newer = NULL;
    r->older = index->newest;
    *(r->older ? &r->older->newer : &index->oldest) = r;
    index->newest = r;
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct cvp_tune_record **bucket(struct cvp_tune_index *index, uint64_t hash)
{
    return index->num_buckets ? &index->buckets[hash & (index->num_buckets - 1)] : &index->only;
}

struct cvp_tune_record *cvp_tune_index_find(struct cvp_tune_index *index,
                                            const struct cvp_tune_key *key, uint64_t hash)
{
    struct cvp_tune_record *r = *bucket(index, hash);
    while (r && (r->hash != hash || !cvp_tune_line_is(r->line, key))) r = r->next;
    if (r && !r->dropped) r->used = 1;
    return r;
}

void cvp_tune_index_remove(struct cvp_tune_index *index, struct cvp_tune_record *record,
                           struct cvp_tune_leftovers *left)
{
    struct cvp_tune_record **at = bucket(index, record->hash);
    while (*at != record) at = &(*at)->next;
    *at = record->next;
    unlink_order(index, record);
    index->count--;
    record->held = 0;
    cvp_tune_batch_unref(record->batch, left);
}

void cvp_tune_index_clear(struct cvp_tune_index *index, struct cvp_tune_leftovers *left)
{
    while (index->newest) cvp_tune_index_remove(index, index->newest, left);
}

struct cvp_tune_record *cvp_tune_index_match(struct cvp_tune_index *index, const char *line,
                                             uint64_t hash)
{
    struct cvp_tune_record *r = *bucket(index, hash);
    while (r && (r->hash != hash || !cvp_tune_lines_equal(r->line, line))) r = r->next;
    return r;
}

/* Makes room for one. */
static void evict(struct cvp_tune_index *index, struct cvp_tune_leftovers *left)
{
    struct cvp_tune_record *r;
    while ((r = index->oldest)->used) {
        r->used = 0;
        unlink_order(index, r);
        link_newest(index, r);
    }
    cvp_tune_index_remove(index, r, left);
}

int cvp_tune_index_insert(struct cvp_tune_index *index, struct cvp_tune_record *record,
                          struct cvp_tune_leftovers *left)
{
    struct cvp_tune_record *r = cvp_tune_index_match(index, record->line, record->hash);
    if (r) {
        if (!r->dropped && cvp_tune_line_when(r->line, r->length) >
                               cvp_tune_line_when(record->line, record->length))
            return 0;
        cvp_tune_index_remove(index, r, left);
    }
    if (index->limit && index->count >= index->limit) evict(index, left);
    struct cvp_tune_record **at = bucket(index, record->hash);
    record->next = *at;
    *at = record;
    link_newest(index, record);
    record->held = 1;
    record->batch->refs++;
    index->count++;
    return r ? 2 : 1;
}

size_t cvp_tune_index_add(struct cvp_tune_index *index, struct cvp_tune_batch *batch,
                          struct cvp_tune_leftovers *left)
{
    size_t superseded = 0;
    for (size_t i = 0; i < batch->count; i++)
        superseded += cvp_tune_index_insert(index, &batch->records[i], left) != 1;
    return superseded;
}

size_t cvp_tune_index_wants(const struct cvp_tune_index *index, size_t count)
{
    size_t want = 64;
    if (count < 8) return 0;
    if (index->limit && count > index->limit) count = index->limit;
    while (want < count) want *= 2;
    return want > index->num_buckets ? want : 0;
}

struct cvp_tune_record **cvp_tune_index_grow(struct cvp_tune_index *index,
                                             struct cvp_tune_record **buckets, size_t num_buckets)
{
    struct cvp_tune_record **was = index->buckets;
    if (!buckets || num_buckets <= index->num_buckets) return buckets;
    index->buckets = buckets;
    index->num_buckets = num_buckets;
    index->only = NULL;
    for (struct cvp_tune_record *r = index->newest; r; r = r->older) {
        struct cvp_tune_record **at = bucket(index, r->hash);
        r->next = *at;
        *at = r;
    }
    return was;
}
