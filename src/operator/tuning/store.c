/* What tuning.h says: look up, keep, drop. */
#include <string.h>
#include <time.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/operator/tuning/cache.h"
#include "src/operator/tuning/host.h"

/* All of it but the plan, which may need memory. */
static void fill_choice(const struct cvp_tune_fields *f, struct cvp_tune_choice *choice)
{
    choice->impl_version = f->impl_version;
    choice->ms = f->ms;
    choice->estimated_ms = f->estimated_ms;
    choice->workspace_bytes = f->workspace_bytes;
    choice->plan = NULL;
    memcpy(choice->impl, f->impl.at, f->impl.length);
    choice->impl[f->impl.length] = '\0';
}

static void release(struct cvp_tune_batch *batch)
{
    struct cvp_tune_leftovers left = {NULL};
    cvp_lock(CVP_LOCK_TUNING);
    cvp_tune_batch_unref(batch, &left);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_tune_free_leftovers(&left);
}

/* It counts, and is well formed behind its key. */
static int is_answer(const struct cvp_tune_record *r, struct cvp_tune_fields *fields)
{
    return r && !r->dropped && cvp_tune_decode(r->line, r->length, fields);
}

/* A record of ours, or of the system; 0: none. */
static int find(const struct cvp_tune_key *key, uint64_t hash, struct cvp_tune_choice *choice)
{
    cvp_lock(CVP_LOCK_TUNING);
    struct cvp_tune_fields f;
    struct cvp_tune_record *r = cvp_tune_index_find(&cvp_tune_user, key, hash);
    int found = is_answer(r, &f);
    if (!found) {
        r = cvp_tune_index_find(&cvp_tune_system, key, hash);
        found = is_answer(r, &f);
    }
    const int has_plan = found && f.plan.length > 0;
    if (found) fill_choice(&f, choice);
    if (has_plan) r->batch->refs++;
    cvp_unlock(CVP_LOCK_TUNING);
    if (!has_plan) return found;
    choice->plan = cvp_calloc(1, f.plan.length + 1);
    if (choice->plan) memcpy(choice->plan, f.plan.at, f.plan.length);
    release(r->batch);
    return choice->plan != NULL;
}

int cvp_tune_lookup(const struct cvp_tune_key *key, struct cvp_tune_choice *choice)
{
    if (cvp_tune_host_lookup(key, choice)) return 1;
    uint64_t hash = cvp_tune_key_hash(key);
    cvp_tune_ready();
    return find(key, hash, choice) || (cvp_tune_look_again() && find(key, hash, choice));
}

/* The time, but not before that of the record that is replaced, be it a dropped one: clocks differ
 * between machines. */
static int64_t time_of(const struct cvp_tune_key *key)
{
    int64_t now = (int64_t)time(NULL), before = 0;
    uint64_t hash = cvp_tune_key_hash(key);
    cvp_lock(CVP_LOCK_TUNING);
    struct cvp_tune_record *r = cvp_tune_index_find(&cvp_tune_user, key, hash);
    if (r) before = cvp_tune_line_when(r->line, r->length);
    cvp_unlock(CVP_LOCK_TUNING);
    return now > before ? now : before;
}

/* A batch of one, with a reference. Takes over the line. */
static struct cvp_tune_batch *wrap(char *line, size_t length)
{
    struct cvp_tune_batch *batch = cvp_tune_batch_create(line, 0, 1);
    if (!batch) return NULL;
    line[length - 1] = '\0'; /* the newline */
    batch->refs = batch->count = 1;
    batch->records[0] = (struct cvp_tune_record){
        .line = line, .length = length - 1, .hash = cvp_tune_line_hash(line), .batch = batch};
    return batch;
}

/* Between cvp_tune_enter and cvp_tune_leave. */
static convop_status keep(const convop_tune_record *record)
{
    char *line;
    size_t length;
    CVP_RETURN_IF_ERROR(cvp_tune_encode("tuning cache", record, &line, &length));
    int saved = cvp_tune_save(line, length);
    struct cvp_tune_batch *batch = wrap(line, length);
    if (!batch) return convop_fail(CONVOP_E_NO_MEMORY, "tuning cache: no memory for a record");
    batch->records[0].unsaved = !saved;
    size_t superseded = cvp_tune_remember(batch);
    release(batch);
    if (saved) cvp_tune_appended(1, superseded);
    return CONVOP_OK;
}

convop_status cvp_tune_store(const struct cvp_tune_key *key, const struct cvp_tune_choice *choice)
{
    cvp_tune_enter();
    convop_tune_record record = {.struct_size = sizeof record,
                                 .device = key->device,
                                 .software = key->software,
                                 .problem = key->problem,
                                 .impl = choice->impl,
                                 .impl_version = choice->impl_version,
                                 .ms = choice->ms,
                                 .estimated_ms = choice->estimated_ms,
                                 .workspace_bytes = choice->workspace_bytes,
                                 .when = time_of(key),
                                 .plan = choice->plan ? choice->plan : ""};
    convop_status status = keep(&record);
    cvp_tune_leave();
    if (status != CONVOP_OK) return status;
    cvp_epoch_advance();
    cvp_tune_host_store(&record);
    return CONVOP_OK;
}

void cvp_tune_drop(const struct cvp_tune_key *key)
{
    struct cvp_tune_index *const indices[] = {&cvp_tune_user, &cvp_tune_system};
    uint64_t hash = cvp_tune_key_hash(key);
    cvp_lock(CVP_LOCK_TUNING);
    for (int i = 0; i < 2; i++) {
        struct cvp_tune_record *r = cvp_tune_index_find(indices[i], key, hash);
        if (!r) continue;
        r->dropped = 1;
        r->used = 0;
    }
    cvp_unlock(CVP_LOCK_TUNING);
}

size_t cvp_tune_count(void)
{
    cvp_tune_ready();
    cvp_lock(CVP_LOCK_TUNING);
    size_t count = cvp_tune_user.count + cvp_tune_system.count;
    cvp_unlock(CVP_LOCK_TUNING);
    return count;
}
