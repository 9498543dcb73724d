/* The callbacks of a host. They run with no lock held; each call of one is counted under the number
 * of its setting, so that whoever takes them back can wait until none of them runs. */
#include "src/operator/tuning/host.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"

#define SLOTS 16

/* Guarded by CVP_LOCK_TUNING. */
static struct {
    convop_tune_callbacks set; /* struct_size 0: none are set */
    unsigned setting;          /* counts convop_tune_set_callbacks() */
    unsigned running[SLOTS];   /* calls, by setting % SLOTS */
    pid_t pid;                 /* whose calls */
} host;

static atomic_int is_set; /* callbacks are: for those who need to know no more */

static _Thread_local int inside; /* calls that this thread is in */

/* Calls of the parent's other threads do not run on in a forked child. Under the lock. */
static void forget_parent(void)
{
    pid_t pid = getpid();
    if (host.pid == pid) return;
    host.pid = pid;
    memset(host.running, 0, sizeof host.running);
}

/* The callbacks in force, counted as running in *slot until leave() if there are any. */
static convop_tune_callbacks enter(unsigned *slot)
{
    cvp_lock(CVP_LOCK_TUNING);
    convop_tune_callbacks set = host.set;
    *slot = host.setting % SLOTS;
    if (set.struct_size) {
        forget_parent();
        host.running[*slot]++;
        inside++;
    }
    cvp_unlock(CVP_LOCK_TUNING);
    return set;
}

static void leave(const convop_tune_callbacks *set, unsigned slot)
{
    if (!set->struct_size) return;
    cvp_lock(CVP_LOCK_TUNING);
    inside--;
    /* 0 if the callback forked and the child has forgotten about it. */
    if (host.running[slot] > 0 && --host.running[slot] == 0) cvp_lock_wake(CVP_LOCK_TUNING);
    cvp_unlock(CVP_LOCK_TUNING);
}

convop_status convop_tune_set_callbacks(const convop_tune_callbacks *callbacks)
{
    convop_tune_callbacks set = {.struct_size = sizeof set};
    if (callbacks)
        CVP_RETURN_IF_ERROR(
            cvp_read_struct(&set, sizeof set, callbacks, "convop_tune_set_callbacks"));
    set.struct_size = callbacks ? sizeof set : 0;
    cvp_lock(CVP_LOCK_TUNING);
    forget_parent();
    unsigned slot = host.setting++ % SLOTS;
    host.set = set;
    atomic_store_explicit(&is_set, callbacks != NULL, memory_order_relaxed);
    /* A callback that calls this would wait for itself. */
    while (inside == 0 && host.running[slot] > 0) cvp_lock_wait(CVP_LOCK_TUNING);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_epoch_advance();
    return CONVOP_OK;
}

int cvp_tune_host_keeps(void)
{
    return atomic_load_explicit(&is_set, memory_order_relaxed);
}

/* What the host says, made ours; nonsense counts as nothing. */
static int take(const convop_tune_record *r, struct cvp_tune_choice *choice)
{
    if (!r->impl || !r->impl[0] || strlen(r->impl) >= sizeof choice->impl || !(r->ms >= 0) ||
        !(r->estimated_ms >= 0))
        return 0;
    struct cvp_tune_choice found = {.impl_version = r->impl_version,
                                    .ms = r->ms,
                                    .estimated_ms = r->estimated_ms,
                                    .workspace_bytes = r->workspace_bytes};
    strcpy(found.impl, r->impl);
    if (r->plan && r->plan[0] && !(found.plan = cvp_strdup(r->plan))) return 0;
    *choice = found;
    return 1;
}

int cvp_tune_host_lookup(const struct cvp_tune_key *key, struct cvp_tune_choice *choice)
{
    if (!cvp_tune_host_keeps()) return 0;
    unsigned slot;
    convop_tune_callbacks set = enter(&slot);
    convop_tune_record record = {.struct_size = sizeof record,
                                 .device = key->device,
                                 .software = key->software,
                                 .problem = key->problem};
    int found = set.lookup && set.lookup(set.user, &record) == 1 && take(&record, choice);
    leave(&set, slot);
    return found;
}

void cvp_tune_host_store(const convop_tune_record *record)
{
    unsigned slot;
    convop_tune_callbacks set = enter(&slot);
    if (set.store) set.store(set.user, record);
    leave(&set, slot);
}
