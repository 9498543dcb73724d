/* Compaction: read under the lock, filter, replace. Whoever waits for the lock then finds that the
 * file is another one, and opens that. */
#include "src/operator/tuning/compact.h"

#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/operator/tuning/scan.h"

static int is_kept(const struct cvp_tune_batch *batch, size_t *next, struct cvp_tune_span line,
                   const struct cvp_tune_filter *forget)
{
    int format;
    if (*next < batch->count && batch->records[*next].line == line.at)
        return batch->records[(*next)++].held &&
               !(forget && cvp_tune_filter_takes(forget, line.at, line.length));
    enum cvp_tune_line kind = cvp_tune_line_kind(line.at, line.length, &format);
    return kind == CVP_TUNE_OTHER || (kind == CVP_TUNE_COMMENT && line.length > 0);
}

/* text has room for all lines, a newline that the last one lacked, and a header. */
static size_t write_kept(char *text, const struct cvp_tune_batch *batch, size_t length,
                         const struct cvp_tune_filter *forget)
{
    const char *at = batch->text, *end = at + length;
    size_t done = cvp_tune_header(text), next = 0;
    for (struct cvp_tune_span line; cvp_tune_next_line(&at, end, &line);) {
        if (!is_kept(batch, &next, line, forget)) continue;
        memcpy(text + done, line.at, line.length);
        done += line.length;
        text[done++] = '\n';
    }
    return done;
}

static convop_status rewrite(const char *path, const struct cvp_tune_batch *batch, size_t length,
                             const struct cvp_tune_stamp *stamp,
                             const struct cvp_tune_filter *forget, char *why)
{
    size_t room = length + 1 + CVP_TUNE_HEADER_SIZE;
    char *text = cvp_buffer_alloc(NULL, room);
    if (!text) {
        snprintf(why, CVP_TUNE_WHY, "no memory to write it anew");
        return CONVOP_E_NO_MEMORY;
    }
    size_t done = write_kept(text, batch, length, forget);
    convop_status status = cvp_tune_file_replace(path, text, done, stamp, why);
    cvp_buffer_free(NULL, text, room);
    return status;
}

static convop_status compact(const char *path, const struct cvp_tune_filter *forget, char *why)
{
    char *text;
    size_t length, bytes;
    struct cvp_tune_census census;
    struct cvp_tune_leftovers left = {NULL};
    struct cvp_tune_index index = {.limit = 0};
    struct cvp_tune_stamp stamp;
    convop_status status = cvp_tune_file_read(path, &text, &length, &bytes, &stamp, why);
    if (status != CONVOP_OK) return status;
    struct cvp_tune_batch *batch = cvp_tune_scan(text, length, bytes, &census);
    if (!batch) {
        snprintf(why, CVP_TUNE_WHY, "no memory to write it anew");
        return CONVOP_E_NO_MEMORY;
    }
    size_t gone = census.bad + cvp_tune_index_fill(&index, batch, &left);
    if (cvp_tune_is_ours(text, length, &census) && (forget || 2 * gone >= census.lines))
        status = rewrite(path, batch, length, &stamp, forget, why);
    cvp_tune_index_clear(&index, &left);
    cvp_free(index.buckets);
    cvp_tune_batch_unref(batch, &left);
    cvp_tune_free_leftovers(&left);
    return status;
}

convop_status cvp_tune_compact(const char *path, const struct cvp_tune_filter *forget,
                               char why[CVP_TUNE_WHY])
{
    struct cvp_tune_open file;
    convop_status status = cvp_tune_file_open(path, 0, &file, why);
    if (status != CONVOP_OK) return status == CONVOP_E_NOT_FOUND ? CONVOP_OK : status;
    /* Who waited too long for the lock appends without it; then we begin again. */
    for (int tries = 0; (forget || file.is_locked) && tries < 10; tries++) {
        status = compact(path, forget, why);
        if (status != CONVOP_E_STATE) break;
    }
    if (status == CONVOP_E_STATE) status = CONVOP_E_IO;
    cvp_tune_file_close(&file);
    return status;
}
