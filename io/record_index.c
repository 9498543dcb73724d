/* Loading and searching an index. */
#include "io/record_index.h"

#include <inttypes.h>
#include <stdlib.h>

#include "convop/registry.h"
#include "io/text_file.h"

static convop_status parse(const struct cvp_io_text *text, char *line, struct cvp_io_index_entry *e)
{
    const char *key = cvp_io_text_field(&line), *offset = cvp_io_text_field(&line);
    if (!offset || line)
        return cvp_io_text_fail(text, "an index line is a key, a tab and an offset");
    if (!cvp_io_text_u64(key, UINT64_MAX, &e->key))
        return cvp_io_text_fail(text, "key \"%.64s\" is no number in [0, 2^64)", key);
    /* -1, which tell() gives on failure, has ended up in index files as 2^64 - 1. */
    if (!cvp_io_text_u64(offset, INT64_MAX, &e->offset))
        return cvp_io_text_fail(text, "offset \"%.64s\" is no number in [0, 2^63)", offset);
    return CONVOP_OK;
}

/* A loaded line: what sorting by key needs, with the line's number for the error text. */
struct line {
    uint64_t key;
    size_t entry, number;
};

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static convop_status grow(struct cvp_io_record_index *index, struct line **lines, size_t *capacity)
{
    if (index->count < *capacity) return CONVOP_OK;
    size_t larger = *capacity ? 2 * *capacity : 1024;
    void *entries = realloc(index->entries, larger * sizeof index->entries[0]);
    if (entries) index->entries = entries;
    void *more = realloc(*lines, larger * sizeof **lines);
    if (more) *lines = more;
    if (!entries || !more)
        return convop_fail(CONVOP_E_NO_MEMORY, "no memory for an index of %zu records", larger);
    *capacity = larger;
    return CONVOP_OK;
}

static convop_status sort(struct cvp_io_text *text, struct cvp_io_record_index *index,
                          struct line *lines)
{
    const size_t n = index->count;
    if (n) qsort(lines, n, sizeof lines[0], compare);
    size_t twice = 0; /* the first line that repeats a key */
    for (size_t i = 1; i < n; i++)
        if (lines[i].key == lines[i - 1].key && (!twice || lines[i].number < twice))
            twice = lines[i].number;
    for (size_t i = 1; i < n && twice; i++) {
        if (lines[i].number != twice) continue;
        text->line = twice;
        return cvp_io_text_fail(text, "key %" PRIu64 " is on line %zu already", lines[i].key,
                                lines[i - 1].number);
    }
    index->by_key = malloc((n ? n : 1) * sizeof index->by_key[0]);
    if (!index->by_key)
        return convop_fail(CONVOP_E_NO_MEMORY, "no memory for an index of %zu records", n);
    for (size_t i = 0; i < n; i++) index->by_key[i] = lines[i].entry;
    return CONVOP_OK;
}

convop_status cvp_io_index_load(const char *path, struct cvp_io_record_index *index)
{
    struct cvp_io_text text;
    convop_status status = cvp_io_text_load(path, &text);
    if (status != CONVOP_OK) return status;
    struct cvp_io_record_index loaded = {0, NULL, NULL};
    struct line *lines = NULL;
    size_t capacity = 0;
    char *line;
    while (status == CONVOP_OK && (line = cvp_io_text_next(&text)) != NULL) {
        status = grow(&loaded, &lines, &capacity);
        if (status == CONVOP_OK) status = parse(&text, line, &loaded.entries[loaded.count]);
        if (status != CONVOP_OK) break;
        lines[loaded.count] =
            (struct line){loaded.entries[loaded.count].key, loaded.count, text.line};
        loaded.count++;
    }
    if (status == CONVOP_OK) status = sort(&text, &loaded, lines);
    free(lines);
    cvp_io_text_free(&text);
    if (status == CONVOP_OK)
        *index = loaded;
    else
        cvp_io_index_free(&loaded);
    return status;
}

void cvp_io_index_free(struct cvp_io_record_index *index)
{
    free(index->entries);
    free(index->by_key);
    *index = (struct cvp_io_record_index){0, NULL, NULL};
}

convop_status cvp_io_index_find(const struct cvp_io_record_index *index, uint64_t key,
                                size_t *entry)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->entries[index->by_key[middle]].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->count || index->entries[index->by_key[low]].key != key)
        return convop_fail(CONVOP_E_NOT_FOUND, "the index has no key %" PRIu64, key);
    *entry = index->by_key[low];
    return CONVOP_OK;
}
