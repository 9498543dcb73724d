/* Taking a snapshot: references under the lock, everything else with the lock free. */
#include <stdlib.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/operator/tuning/cache.h"
#include "src/operator/tuning/snapshot.h"

/* By device, software and problem, bytewise: a tab is smaller than all that a text may have. Of
 * equal keys the user's record comes first. */
static int compare(const void *a, const void *b)
{
    const struct cvp_tune_entry *x = a, *y = b;
    if (cvp_tune_lines_equal(x->record->line, y->record->line)) return x->is_system - y->is_system;
    return memcmp(x->record->line, y->record->line,
                  x->record->length < y->record->length ? x->record->length : y->record->length);
}

static void add(struct cvp_tune_snapshot *s, const struct cvp_tune_index *index, int is_system)
{
    for (struct cvp_tune_record *r = index->newest; r; r = r->older) {
        if (r->dropped) continue;
        r->batch->refs++;
        s->at[s->count++] = (struct cvp_tune_entry){r, is_system};
    }
}

/* All of them, as they come. 0 without memory. */
static int collect(struct cvp_tune_snapshot *s, int system)
{
    size_t room = 0;
    for (;;) {
        cvp_lock(CVP_LOCK_TUNING);
        size_t count = cvp_tune_user.count + (system ? cvp_tune_system.count : 0);
        if (count <= room) {
            add(s, &cvp_tune_user, 0);
            if (system) add(s, &cvp_tune_system, 1);
        }
        cvp_unlock(CVP_LOCK_TUNING);
        if (count <= room) return 1;
        cvp_free(s->at);
        room = count;
        s->at = cvp_calloc(room, sizeof s->at[0]);
        if (!s->at) return 0;
    }
}

/* The entries from the given one on. */
static void release(const struct cvp_tune_snapshot *s, size_t from)
{
    struct cvp_tune_leftovers left = {NULL};
    cvp_lock(CVP_LOCK_TUNING);
    for (size_t i = from; i < s->count; i++) cvp_tune_batch_unref(s->at[i].record->batch, &left);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_tune_free_leftovers(&left);
}

convop_status cvp_tune_snapshot_take(struct cvp_tune_snapshot *s, const char *caller,
                                     const struct cvp_tune_filter *filter, int system)
{
    *s = (struct cvp_tune_snapshot){.count = 0};
    if (!collect(s, system))
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the list of records", caller);
    if (s->count) qsort(s->at, s->count, sizeof s->at[0], compare);
    size_t kept = 0;
    const char *last = NULL;
    for (size_t i = 0; i < s->count; i++) {
        struct cvp_tune_record *r = s->at[i].record;
        int is_hidden = last && cvp_tune_lines_equal(last, r->line);
        if (!is_hidden && cvp_tune_line_when(r->line, r->length) >= 0) last = r->line;
        if (is_hidden || !cvp_tune_filter_takes(filter, r->line, r->length)) continue;
        struct cvp_tune_entry entry = s->at[i];
        s->at[i] = s->at[kept];
        s->at[kept++] = entry;
    }
    release(s, kept);
    s->count = kept;
    return CONVOP_OK;
}

void cvp_tune_snapshot_release(struct cvp_tune_snapshot *s)
{
    release(s, 0);
    cvp_free(s->at);
    *s = (struct cvp_tune_snapshot){.count = 0};
}
