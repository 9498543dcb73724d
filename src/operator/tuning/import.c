/* convop_tune_import: the records of another file, added to ours. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/operator/tuning/cache.h"
#include "src/operator/tuning/host.h"
#include "src/operator/tuning/scan.h"

static const char caller[] = "convop_tune_import";

/* Keeps of the batch what counts: well formed, and the last of its key. */
static size_t tidy(struct cvp_tune_batch *batch)
{
    struct cvp_tune_index index = {.limit = 0};
    struct cvp_tune_leftovers left = {NULL}; /* stays empty: the caller has a reference */
    struct cvp_tune_fields fields;
    size_t sound = 0, kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct cvp_tune_record r = batch->records[i];
        if (cvp_tune_decode(r.line, r.length, &fields)) batch->records[sound++] = r;
    }
    batch->count = sound;
    cvp_tune_index_fill(&index, batch, &left);
    for (size_t i = 0; i < sound; i++) batch->records[i].unsaved = batch->records[i].held;
    cvp_tune_index_clear(&index, &left);
    cvp_free(index.buckets);
    for (size_t i = 0; i < sound; i++)
        if (batch->records[i].unsaved) batch->records[kept++] = batch->records[i];
    batch->count = kept;
    return sound;
}

/* Leaves in the batch what is newer than what we have. */
static void leave_out_known(struct cvp_tune_batch *batch)
{
    size_t kept = 0;
    cvp_lock(CVP_LOCK_TUNING);
    for (size_t i = 0; i < batch->count; i++) {
        struct cvp_tune_record r = batch->records[i];
        const struct cvp_tune_record *ours = cvp_tune_index_match(&cvp_tune_user, r.line, r.hash);
        int64_t when = cvp_tune_line_when(r.line, r.length);
        if (ours && ours->dropped) ours = NULL;
        int64_t our_when = ours ? cvp_tune_line_when(ours->line, ours->length) : -1;
        int is_same = ours && ours->length == r.length && !memcmp(ours->line, r.line, r.length);
        if (when >= our_when && !is_same) batch->records[kept++] = r;
    }
    cvp_unlock(CVP_LOCK_TUNING);
    batch->count = kept;
}

/* The lines of the batch, one behind the other; NULL without memory. */
static char *join(const struct cvp_tune_batch *batch, size_t *length)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++) bytes += batch->records[i].length + 1;
    char *lines = cvp_malloc(bytes);
    *length = 0;
    for (size_t i = 0; lines && i < batch->count; i++) {
        memcpy(lines + *length, batch->records[i].line, batch->records[i].length);
        *length += batch->records[i].length;
        lines[(*length)++] = '\n';
    }
    return lines;
}

static void tell_host(const struct cvp_tune_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct cvp_tune_record *r = &batch->records[i];
        convop_tune_record record;
        char *texts = cvp_malloc(r->length), *at = texts;
        if (texts && cvp_tune_unpack(r->line, r->length, &at, &record))
            cvp_tune_host_store(&record);
        cvp_free(texts);
    }
}

/* Takes over the batch, which was read from the file with the stamp. */
static void add(struct cvp_tune_batch *batch, const struct cvp_tune_stamp *stamp)
{
    size_t length;
    cvp_tune_enter();
    if (cvp_tune_is_mirrored(stamp))
        batch->count = 0;
    else
        leave_out_known(batch);
    char *lines = join(batch, &length);
    int saved = lines && length && cvp_tune_save(lines, length);
    for (size_t i = 0; i < batch->count; i++) batch->records[i].unsaved = !saved;
    size_t superseded = cvp_tune_remember(batch);
    if (saved) cvp_tune_appended(batch->count, superseded);
    cvp_tune_leave();
    cvp_free(lines);
    if (cvp_tune_host_keeps()) tell_host(batch);
    struct cvp_tune_leftovers left = {NULL};
    cvp_lock(CVP_LOCK_TUNING);
    cvp_tune_batch_unref(batch, &left);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_tune_free_leftovers(&left);
}

convop_status convop_tune_import(const char *path, convop_tune_counts *counts)
{
    char *text, why[CVP_TUNE_WHY];
    size_t length, bytes, size = counts ? counts->struct_size : 0;
    struct cvp_tune_census census;
    struct cvp_tune_stamp stamp;
    convop_tune_counts found = {.struct_size = sizeof found};
    if (!path) return convop_fail(CONVOP_E_INVALID, "%s: path is NULL", caller);
    if (counts) CVP_RETURN_IF_ERROR(cvp_read_struct(&found, sizeof found, counts, caller));
    convop_status status = cvp_tune_file_read(path, &text, &length, &bytes, &stamp, why);
    if (status != CONVOP_OK) return convop_fail(status, "%s: %s: %s", caller, path, why);
    struct cvp_tune_batch *batch = cvp_tune_scan(text, length, bytes, &census);
    if (!batch) return convop_fail(CONVOP_E_NO_MEMORY, "%s: %s: no memory", caller, path);
    found.records = tidy(batch);
    found.bad = census.bad + census.others + census.records - found.records;
    found.format = census.format;
    add(batch, &stamp);
    cvp_epoch_advance();
    found.struct_size = size;
    if (counts) memcpy(counts, &found, size < sizeof found ? size : sizeof found);
    return CONVOP_OK;
}
