/* convop_tune_list and what is made of it: listings, and the file of convop_tune_export. */
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/operator/tuning/cache.h"
#include "src/operator/tuning/snapshot.h"

struct convop_tune_listing {
    size_t count;
    convop_tune_record *records;
    char *texts;
};

/* A line that is malformed behind its key is left out. */
static void fill(convop_tune_listing *l, const struct cvp_tune_snapshot *s)
{
    char *at = l->texts;
    for (size_t i = 0; i < s->count; i++) {
        const struct cvp_tune_record *r = s->at[i].record;
        l->count += (size_t)cvp_tune_unpack(r->line, r->length, &at, &l->records[l->count]);
    }
}

static size_t bytes_of(const struct cvp_tune_snapshot *s)
{
    size_t bytes = 0;
    for (size_t i = 0; i < s->count; i++) bytes += s->at[i].record->length + 1;
    return bytes;
}

static convop_tune_listing *create(const struct cvp_tune_snapshot *s)
{
    convop_tune_listing *l = cvp_calloc(1, sizeof *l);
    if (!l) return NULL;
    l->records = cvp_calloc(s->count, sizeof l->records[0]);
    l->texts = cvp_malloc(bytes_of(s));
    if (!l->records || !l->texts) convop_tune_listing_destroy(&l);
    return l;
}

convop_status convop_tune_list(const convop_tune_filter *filter, convop_tune_listing **out)
{
    static const char caller[] = "convop_tune_list";
    struct cvp_tune_filter f;
    struct cvp_tune_snapshot s;
    if (!out) return convop_fail(CONVOP_E_INVALID, "%s: out is NULL", caller);
    CVP_RETURN_IF_ERROR(cvp_tune_filter_init(&f, caller, filter));
    cvp_tune_enter();
    cvp_tune_leave();
    CVP_RETURN_IF_ERROR(cvp_tune_snapshot_take(&s, caller, &f, 1));
    convop_tune_listing *l = create(&s);
    if (l) fill(l, &s);
    cvp_tune_snapshot_release(&s);
    if (!l) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the list", caller);
    *out = l;
    return CONVOP_OK;
}

size_t convop_tune_listing_count(const convop_tune_listing *listing)
{
    return listing ? listing->count : 0;
}

const convop_tune_record *convop_tune_listing_at(const convop_tune_listing *listing, size_t index)
{
    return listing && index < listing->count ? &listing->records[index] : NULL;
}

void convop_tune_listing_destroy(convop_tune_listing **listing)
{
    if (!listing || !*listing) return;
    cvp_free((*listing)->records);
    cvp_free((*listing)->texts);
    cvp_free(*listing);
    *listing = NULL;
}

convop_status convop_tune_export(const char *path)
{
    static const char caller[] = "convop_tune_export";
    struct cvp_tune_filter all;
    struct cvp_tune_snapshot s;
    char why[CVP_TUNE_WHY];
    if (!path) return convop_fail(CONVOP_E_INVALID, "%s: path is NULL", caller);
    CVP_RETURN_IF_ERROR(cvp_tune_filter_init(&all, caller, NULL));
    cvp_tune_enter();
    cvp_tune_leave();
    CVP_RETURN_IF_ERROR(cvp_tune_snapshot_take(&s, caller, &all, 1));
    char *text = cvp_malloc(CVP_TUNE_HEADER_SIZE + bytes_of(&s));
    size_t length = text ? cvp_tune_header(text) : 0;
    for (size_t i = 0; text && i < s.count; i++) {
        const struct cvp_tune_record *r = s.at[i].record;
        struct cvp_tune_fields fields;
        if (!cvp_tune_decode(r->line, r->length, &fields)) continue;
        memcpy(text + length, r->line, r->length);
        length += r->length;
        text[length++] = '\n';
    }
    cvp_tune_snapshot_release(&s);
    if (!text) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the file", caller);
    convop_status status = cvp_tune_file_replace(path, text, length, NULL, why);
    cvp_free(text);
    return status == CONVOP_OK ? status : convop_fail(status, "%s: %s: %s", caller, path, why);
}
