/* The table of implementation rows: who is registered, and the set of rows as of now.
 *
 * Each change publishes a new set; plans keep the one that they were made with. A set counts who
 * uses it, and a row lives as long as a set has it. While nothing is registered the set is a
 * constant, and taking it is one atomic load.
 *
 * What the last user leaves behind is collected under the lock, and freed and told of after it. */
#include <stdatomic.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/operator/convolution/row_set.h"
#include "src/operator/memo.h"

/* Guarded by CVP_LOCK_ROWS, but that `current` is also looked at without it. */
static struct conv_row_set *_Atomic current; /* NULL: the built-in rows alone */
static struct conv_row_entry *registered;
static size_t num_registered;

/* What is to be given back once the lock is free. */
struct leftovers {
    struct conv_row_set *set;
    struct conv_row_entry *entries;
};

static void unref_entry(struct conv_row_entry *entry, struct leftovers *left)
{
    if (--entry->refs > 0) return;
    entry->next = left->entries;
    left->entries = entry;
}

static void unref_set(struct conv_row_set *set, struct leftovers *left)
{
    if (!set || --set->refs > 0) return;
    for (size_t i = 0; i < set->num_held; i++) unref_entry(set->held[i], left);
    left->set = set;
}

/* Makes `set` the one to be taken from now on; it has its room. NULL: the built-in rows. */
static void publish(struct conv_row_set *set, struct leftovers *left)
{
    if (set) {
        cvp_conv_row_set_fill(set, registered);
        set->refs = 1;
    }
    struct conv_row_set *was = atomic_load_explicit(&current, memory_order_relaxed);
    atomic_store_explicit(&current, set, memory_order_relaxed);
    unref_set(was, left);
}

/* After the rows have changed, with the lock free: plans that are kept let go of the old ones. */
static void tell(void)
{
    cvp_epoch_advance();
    cvp_memo_purge();
}

/* With the lock free: a callback may do anything. */
static void give_back(struct leftovers *left)
{
    cvp_free(left->set);
    while (left->entries) {
        struct conv_row_entry *entry = left->entries;
        left->entries = entry->next;
        void (*released)(void *user) = entry->released;
        void *user = entry->user;
        cvp_free(entry->spare);
        cvp_free(entry);
        if (released) released(user);
    }
}

const struct conv_rows *cvp_conv_rows_acquire(void)
{
    /* Relaxed: what the pointer leads to is only read after it was read again under the lock. */
    if (!atomic_load_explicit(&current, memory_order_relaxed)) return &cvp_conv_builtin_rows;
    cvp_lock(CVP_LOCK_ROWS);
    struct conv_row_set *set = atomic_load_explicit(&current, memory_order_relaxed);
    if (set) set->refs++;
    cvp_unlock(CVP_LOCK_ROWS);
    return set ? &set->rows : &cvp_conv_builtin_rows;
}

void cvp_conv_rows_release(const struct conv_rows *rows)
{
    if (!rows->set) return;
    struct leftovers left = {NULL, NULL};
    cvp_lock(CVP_LOCK_ROWS);
    unref_set(rows->set, &left);
    cvp_unlock(CVP_LOCK_ROWS);
    give_back(&left);
}

/* ---- registration -------------------------------------------------------------------------- */

/* With the lock held. */
static int is_taken(const convop_conv_impl *impl)
{
    for (const struct conv_row_entry *e = registered; e; e = e->next)
        if (e->impl->level == impl->level && cvp_conv_rows_rival(e->impl, impl)) return 1;
    for (size_t i = 0; i < cvp_conv_builtin_rows.first[CONV_GROUPS]; i++)
        if (cvp_conv_builtin_rows.at[i]->level == impl->level &&
            cvp_conv_rows_rival(cvp_conv_builtin_rows.at[i], impl))
            return 1;
    return 0;
}

/* With the lock held. */
static void add_entry(struct conv_row_entry *entry)
{
    struct conv_row_entry **at = &registered;
    while (*at && (*at)->impl->level >= entry->impl->level) at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    entry->refs = 1;
    num_registered++;
}

static void free_entry(struct conv_row_entry *entry)
{
    if (entry) cvp_free(entry->spare);
    cvp_free(entry);
}

/* An entry with its spare set. */
static struct conv_row_entry *make_entry(const convop_conv_impl *impl, size_t room)
{
    struct conv_row_entry *entry = cvp_calloc(1, sizeof *entry);
    if (!entry) return NULL;
    entry->impl = impl;
    entry->spare = cvp_conv_row_set_create(room);
    if (entry->spare) return entry;
    cvp_free(entry);
    return NULL;
}

convop_status convop_conv_impl_register(const convop_conv_impl *impl)
{
    static const char caller[] = "convop_conv_impl_register";
    CVP_RETURN_IF_ERROR(cvp_conv_impl_check(caller, impl));
    if (strcmp(impl->name, CONV_REFERENCE) == 0)
        return convop_fail(CONVOP_E_STATE,
                           "%s: the name \"%s\" is that of the last resort, which is built in",
                           caller, impl->name);
    /* Room is made with the lock free; when rows come in between, it is made again. */
    struct conv_row_entry *entry = NULL;
    struct conv_row_set *set = NULL;
    struct leftovers left = {NULL, NULL};
    int taken, done;
    for (;;) {
        cvp_lock(CVP_LOCK_ROWS);
        size_t room = num_registered + 1;
        taken = is_taken(impl);
        done = !taken && set && set->room >= room;
        if (done) {
            add_entry(entry);
            publish(set, &left);
        }
        cvp_unlock(CVP_LOCK_ROWS);
        if (done) break;
        free_entry(entry);
        cvp_free(set);
        if (taken)
            return convop_fail(CONVOP_E_STATE,
                               "%s: %s: a row of this name and direction is there at level %d; a "
                               "higher level hides it",
                               caller, impl->name, impl->level);
        entry = make_entry(impl, room);
        set = entry ? cvp_conv_row_set_create(room) : NULL;
        if (!set) {
            free_entry(entry);
            return convop_fail(CONVOP_E_NO_MEMORY, "%s: %s: no memory to register it", caller,
                               impl->name);
        }
    }
    tell();
    give_back(&left);
    return CONVOP_OK;
}

/* With the lock held: the largest spare set. There is one for each registered row, and the i-th
 * smallest has room for i rows; so the largest has room for all but one. */
static struct conv_row_set *take_spare(void)
{
    struct conv_row_entry *best = registered;
    for (struct conv_row_entry *e = registered; e; e = e->next)
        if (e->spare->room > best->spare->room) best = e;
    return best->spare;
}

convop_status convop_conv_impl_unregister(const convop_conv_impl *impl,
                                          void (*released)(void *user), void *user)
{
    static const char caller[] = "convop_conv_impl_unregister";
    if (!impl) return convop_fail(CONVOP_E_INVALID, "%s: impl is NULL", caller);
    if (cvp_conv_row_is_builtin(impl))
        return convop_fail(CONVOP_E_STATE, "%s: %s is built in and stays", caller, impl->name);
    struct leftovers left = {NULL, NULL};
    cvp_lock(CVP_LOCK_ROWS);
    struct conv_row_entry **at = &registered;
    while (*at && (*at)->impl != impl) at = &(*at)->next;
    struct conv_row_entry *entry = *at;
    struct conv_row_set *unused = NULL;
    if (entry) {
        struct conv_row_set *set = take_spare();
        for (struct conv_row_entry *e = registered; e; e = e->next)
            if (e->spare == set) e->spare = entry->spare;
        entry->spare = NULL;
        *at = entry->next;
        num_registered--;
        entry->released = released;
        entry->user = user;
        if (!num_registered) unused = set;
        publish(num_registered ? set : NULL, &left);
        unref_entry(entry, &left);
    }
    cvp_unlock(CVP_LOCK_ROWS);
    cvp_free(unused);
    if (entry) tell();
    give_back(&left);
    /* A stranger's pointer is not followed, not even for its name. */
    if (!entry)
        return convop_fail(CONVOP_E_NOT_FOUND, "%s: the descriptor is not registered", caller);
    return CONVOP_OK;
}
