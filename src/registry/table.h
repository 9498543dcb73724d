/* The table of operators, shared by the files of this folder: who is registered, under which lock.
 */
#ifndef CVP_REGISTRY_TABLE_H
#define CVP_REGISTRY_TABLE_H

#include "convop/registry.h"

/* One operator of the program's own. Guarded by the table's lock. */
struct cvp_op_entry {
    struct cvp_op_entry *next;
    const convop_op *op;
    uint64_t refs; /* handed out by find and by listings, not given back yet */
    void (*released)(void *user);
    void *user;
};

/* Why a registration is refused: found under the lock, told after it. */
struct cvp_conflict {
    convop_status status;
    char text[256];
};

/* The lock guards the two lists of entries and the attributes registered at run time. It is a leaf:
 * nothing is allocated, reported or called back while it is held. */
void cvp_table_lock(void);
void cvp_table_unlock(void);

/* ---- everything below: with the lock held ---- */

/* Walks all operators that are registered, built-ins first. */
struct cvp_op_cursor {
    size_t builtin;
    const struct cvp_op_entry *entry;
};
struct cvp_op_cursor cvp_table_begin(void);
const convop_op *cvp_table_next(struct cvp_op_cursor *cursor); /* NULL at the end */

/* The operator of that name at the highest level, NULL if there is none. */
const convop_op *cvp_table_find(const char *name);

void cvp_table_add(struct cvp_op_entry *entry);

/* The entry of a descriptor, NULL for a built-in or a stranger. *retired: it is found no more. */
struct cvp_op_entry *cvp_table_entry(const convop_op *op, int *retired);

/* Takes a reference; a built-in needs none. */
void cvp_table_ref(const convop_op *op);

/* Drops one. Returns the entry, taken out of the table, if that was the last one and it is retired.
 */
struct cvp_op_entry *cvp_table_unref(const convop_op *op);

/* Lets it be found no more. Returns it, taken out of the table, if nobody holds a reference. */
struct cvp_op_entry *cvp_table_retire(struct cvp_op_entry *entry);

/* 1 if an attribute of this name and type may be added to op_name at this level. 0 fills conflict.
 */
int cvp_attr_may_add(const char *op_name, const char *key, const char *type, int level,
                     struct cvp_conflict *conflict);

#endif
