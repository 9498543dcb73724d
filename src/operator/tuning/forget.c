/* convop_tune_forget, and convop_tune_path: the file as its owner sees it. */
#include <string.h>

#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/operator/tuning/cache.h"
#include "src/operator/tuning/snapshot.h"

/* Takes the records out of memory, where they still are what the snapshot saw. */
static void remove_all(const struct cvp_tune_snapshot *s)
{
    struct cvp_tune_leftovers left = {NULL};
    cvp_lock(CVP_LOCK_TUNING);
    for (size_t i = 0; i < s->count; i++) {
        struct cvp_tune_record *r = s->at[i].record;
        if (r->held) cvp_tune_index_remove(&cvp_tune_user, r, &left);
    }
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_tune_free_leftovers(&left);
}

convop_status convop_tune_forget(const convop_tune_filter *filter, size_t *count)
{
    static const char caller[] = "convop_tune_forget";
    struct cvp_tune_filter f;
    struct cvp_tune_snapshot s;
    CVP_RETURN_IF_ERROR(cvp_tune_filter_init(&f, caller, filter));
    cvp_tune_enter();
    convop_status status = cvp_tune_snapshot_take(&s, caller, &f, 0);
    if (status == CONVOP_OK) {
        remove_all(&s);
        if (count) *count = s.count;
        cvp_tune_snapshot_release(&s);
        status = cvp_tune_forget_in_file(caller, &f);
    }
    cvp_tune_leave();
    cvp_epoch_advance();
    return status;
}

size_t convop_tune_path(char *path, size_t size, char *why, size_t why_size)
{
    char full[CVP_TUNE_PATH], reason[CVP_TUNE_WHY];
    cvp_tune_where(full, reason);
    struct cvp_text path_text = cvp_text_in(path, size), why_text = cvp_text_in(why, why_size);
    cvp_text_add(&path_text, "%s", full);
    cvp_text_add(&why_text, "%s", reason);
    return strlen(full);
}
