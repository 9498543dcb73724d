/* Reading the lines of a file; see scan.h. Checksums are tested, plans are not looked into. */
#include "src/operator/tuning/scan.h"

#include <string.h>

#include "src/common/alloc.h"

/* Room for one more; 0 without memory. */
static int make_room(struct cvp_tune_batch *batch, size_t *room)
{
    if (batch->count < *room) return 1;
    size_t more = *room * 2;
    struct cvp_tune_record *records = cvp_realloc(batch->records, more * sizeof batch->records[0]);
    if (!records) return 0;
    batch->records = records;
    *room = more;
    return 1;
}

static int take_line(struct cvp_tune_batch *batch, size_t *room, struct cvp_tune_span line,
                     struct cvp_tune_census *census)
{
    int format;
    census->lines++;
    switch (cvp_tune_line_kind(line.at, line.length, &format)) {
    case CVP_TUNE_BAD: census->bad++; break;
    case CVP_TUNE_COMMENT: census->comments++; break;
    case CVP_TUNE_OTHER: census->others++; break;
    case CVP_TUNE_HEADER:
        census->comments++;
        if (format > census->format) census->format = format;
        break;
    case CVP_TUNE_CHOICE:
        if (!make_room(batch, room)) return 0;
        census->records++;
        batch->records[batch->count++] =
            (struct cvp_tune_record){.line = line.at,
                                     .length = line.length,
                                     .hash = cvp_tune_line_hash(line.at),
                                     .batch = batch};
        break;
    }
    return 1;
}

struct cvp_tune_batch *cvp_tune_scan(char *text, size_t length, size_t bytes,
                                     struct cvp_tune_census *census)
{
    size_t room = 64;
    *census = (struct cvp_tune_census){.lines = 0};
    struct cvp_tune_batch *batch = cvp_tune_batch_create(text, bytes, room);
    if (!batch) return NULL;
    batch->refs = 1;
    const char *at = text, *end = text + length;
    struct cvp_tune_span line;
    while (cvp_tune_next_line(&at, end, &line)) {
        if (take_line(batch, &room, line, census)) continue;
        cvp_tune_batch_free(batch);
        return NULL;
    }
    if (census->format > CVP_TUNE_FORMAT) batch->count = census->records = 0;
    return batch;
}

int cvp_tune_is_ours(const char *text, size_t length, const struct cvp_tune_census *census)
{
    char header[CVP_TUNE_HEADER_SIZE];
    if (census->format > CVP_TUNE_FORMAT) return 0;
    if (census->format || census->records || census->others) return 1;
    return length < cvp_tune_header(header) && memcmp(text, header, length) == 0;
}

size_t cvp_tune_index_fill(struct cvp_tune_index *index, struct cvp_tune_batch *batch,
                           struct cvp_tune_leftovers *left)
{
    size_t want = cvp_tune_index_wants(index, batch->count);
    if (want) {
        struct cvp_tune_record **buckets = cvp_calloc(want, sizeof(void *));
        cvp_free(cvp_tune_index_grow(index, buckets, want));
    }
    return cvp_tune_index_add(index, batch, left);
}
