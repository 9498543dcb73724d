/* The lists behind table.h: the built-ins' const table, the program's operators, and those that are
 * unregistered but still referenced. A few dozen operators: linear search is the simple choice. */
#include "src/registry/table.h"

#include <pthread.h>
#include <string.h>

#include "src/registry/registry_internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static struct cvp_op_entry *live, *retired_list;

/* A child of fork() gets the lock free and the lists whole, whatever other threads were doing. */
static void make_fork_safe(void)
{
    /* It fails only without memory; then a fork in the middle of a registration is unsafe, no more.
     */
    pthread_atfork(cvp_table_lock, cvp_table_unlock, cvp_table_unlock);
}

void cvp_table_lock(void)
{
    pthread_once(&lock_once, make_fork_safe);
    pthread_mutex_lock(&lock);
}

void cvp_table_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct cvp_op_cursor cvp_table_begin(void)
{
    struct cvp_op_cursor cursor = {0, live};
    return cursor;
}

const convop_op *cvp_table_next(struct cvp_op_cursor *cursor)
{
    if (cursor->builtin < cvp_num_builtin_ops) return cvp_builtin_ops[cursor->builtin++];
    if (!cursor->entry) return NULL;
    const convop_op *op = cursor->entry->op;
    cursor->entry = cursor->entry->next;
    return op;
}

const convop_op *cvp_table_find(const char *name)
{
    const convop_op *op, *best = NULL;
    for (struct cvp_op_cursor c = cvp_table_begin(); (op = cvp_table_next(&c)) != NULL;)
        if (strcmp(op->name, name) == 0 && (!best || op->level > best->level)) best = op;
    return best;
}

void cvp_table_add(struct cvp_op_entry *entry)
{
    entry->next = live;
    live = entry;
}

static struct cvp_op_entry *in_list(struct cvp_op_entry *list, const convop_op *op)
{
    while (list && list->op != op) list = list->next;
    return list;
}

static void unlink_entry(struct cvp_op_entry **list, const struct cvp_op_entry *entry)
{
    while (*list != entry) list = &(*list)->next;
    *list = entry->next;
}

struct cvp_op_entry *cvp_table_entry(const convop_op *op, int *retired)
{
    struct cvp_op_entry *entry = in_list(live, op);
    *retired = 0;
    if (entry) return entry;
    *retired = 1;
    return in_list(retired_list, op);
}

void cvp_table_ref(const convop_op *op)
{
    struct cvp_op_entry *entry = in_list(live, op);
    if (entry) entry->refs++;
}

struct cvp_op_entry *cvp_table_unref(const convop_op *op)
{
    int retired;
    struct cvp_op_entry *entry = cvp_table_entry(op, &retired);
    /* refs 0: a caller gives back what it never took. The table keeps its own. */
    if (!entry || entry->refs == 0) return NULL;
    if (--entry->refs > 0 || !retired) return NULL;
    unlink_entry(&retired_list, entry);
    return entry;
}

struct cvp_op_entry *cvp_table_retire(struct cvp_op_entry *entry)
{
    unlink_entry(&live, entry);
    if (entry->refs == 0) return entry;
    entry->next = retired_list;
    retired_list = entry;
    return NULL;
}
