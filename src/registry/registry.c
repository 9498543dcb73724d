/* Registering operators, finding them, and handing them back. */
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/registry/descriptor.h"
#include "src/registry/registry_internal.h"
#include "src/registry/table.h"

/* With the lock held. Fills *conflict and returns 0 if op may not be registered. */
static int may_register(const convop_op *op, struct cvp_conflict *conflict)
{
    int retired;
    if (cvp_table_entry(op, &retired) && retired) {
        conflict->status = CONVOP_E_STATE;
        snprintf(conflict->text, sizeof conflict->text,
                 "it was unregistered and is still referenced; wait for its released callback");
        return 0;
    }
    const convop_op *other;
    for (struct cvp_op_cursor c = cvp_table_begin(); (other = cvp_table_next(&c)) != NULL;) {
        if (other->level != op->level || strcmp(other->name, op->name) != 0) continue;
        conflict->status = CONVOP_E_STATE;
        snprintf(conflict->text, sizeof conflict->text,
                 "an operator of this name is registered at level %d; a higher level overrides it",
                 op->level);
        return 0;
    }
    for (size_t i = 0; i < op->num_attrs; i++)
        if (!cvp_attr_may_add(op->name, op->attrs[i].key, op->attrs[i].type, op->level, conflict))
            return 0;
    return 1;
}

convop_status convop_op_register(const convop_op *op)
{
    CVP_RETURN_IF_ERROR(cvp_descriptor_check("convop_op_register", op));
    struct cvp_op_entry *entry = cvp_calloc(1, sizeof *entry);
    if (!entry) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to register it", op->name);
    entry->op = op;

    struct cvp_conflict conflict;
    cvp_table_lock();
    const int added = may_register(op, &conflict);
    if (added) cvp_table_add(entry);
    cvp_table_unlock();
    if (added) return CONVOP_OK;
    cvp_free(entry);
    return convop_fail(conflict.status, "%s: %s", op->name, conflict.text);
}

/* After its entry has left the table: nobody can reach the descriptor any more. */
static void finish(struct cvp_op_entry *entry)
{
    if (!entry) return;
    void (*released)(void *user) = entry->released;
    void *user = entry->user;
    cvp_free(entry);
    if (released) released(user);
}

static int is_builtin(const convop_op *op)
{
    for (size_t i = 0; i < cvp_num_builtin_ops; i++)
        if (cvp_builtin_ops[i] == op) return 1;
    return 0;
}

convop_status convop_op_unregister(const convop_op *op, void (*released)(void *user), void *user)
{
    if (!op) return convop_fail(CONVOP_E_INVALID, "convop_op_unregister: op is NULL");
    if (is_builtin(op))
        return convop_fail(CONVOP_E_STATE, "convop_op_unregister: %s is built in and stays",
                           op->name);
    cvp_table_lock();
    int retired;
    struct cvp_op_entry *entry = cvp_table_entry(op, &retired), *last = NULL;
    const int found = entry && !retired;
    if (found) {
        entry->released = released;
        entry->user = user;
        last = cvp_table_retire(entry);
    }
    cvp_table_unlock();
    /* A stranger's pointer is not followed, not even for its name. */
    if (!found)
        return convop_fail(CONVOP_E_NOT_FOUND,
                           "convop_op_unregister: the descriptor is not registered");
    finish(last);
    return CONVOP_OK;
}

/* Copies the registered name that is nearest to name; "" if none is near or memory is short. */
static void nearest_name(const char *name, char *text, size_t size)
{
    text[0] = 0;
    convop_op_listing *listing;
    if (convop_op_list(&listing) != CONVOP_OK) return;
    const size_t n = convop_op_listing_count(listing);
    const char **names = cvp_calloc(n ? n : 1, sizeof *names);
    if (names) {
        for (size_t i = 0; i < n; i++) names[i] = convop_op_listing_at(listing, i)->name;
        const char *nearest = cvp_nearest(name, names, n);
        if (nearest) snprintf(text, size, "%s", nearest);
    }
    cvp_free(names);
    convop_op_listing_destroy(&listing);
}

convop_status convop_op_find(const char *name, const convop_op **op)
{
    if (!op) return convop_fail(CONVOP_E_INVALID, "convop_op_find: op is NULL");
    *op = NULL;
    if (!name) return convop_fail(CONVOP_E_INVALID, "convop_op_find: name is NULL");
    cvp_table_lock();
    const convop_op *found = cvp_table_find(name);
    if (found) cvp_table_ref(found);
    cvp_table_unlock();
    *op = found;
    if (found) return CONVOP_OK;

    char nearest[96];
    nearest_name(name, nearest, sizeof nearest);
    if (nearest[0])
        return convop_fail(CONVOP_E_NOT_FOUND,
                           "convop_op_find: there is no operator \"%.80s\"; did you mean \"%s\"?",
                           name, nearest);
    return convop_fail(CONVOP_E_NOT_FOUND, "convop_op_find: there is no operator \"%.80s\"", name);
}

void convop_op_release(const convop_op **op)
{
    if (!op || !*op) return;
    const convop_op *was = *op;
    *op = NULL;
    cvp_table_lock();
    struct cvp_op_entry *last = cvp_table_unref(was);
    cvp_table_unlock();
    finish(last);
}

/* An operator's own count is not trusted: callers size arrays by the maximum. */
static int within(int n, int max)
{
    return n < 0 ? 0 : n > max ? max : n;
}

int cvp_op_num_inputs(const convop_op *op, const void *params)
{
    return op->num_inputs ? within(op->num_inputs(params), op->max_inputs) : op->max_inputs;
}

int cvp_op_num_outputs(const convop_op *op, const void *params)
{
    return op->num_outputs ? within(op->num_outputs(params), op->max_outputs) : op->max_outputs;
}
