/* The variables of one engine, by their numbers. */
#ifndef CVP_ENGINE_VAR_TABLE_H
#define CVP_ENGINE_VAR_TABLE_H

#include "convop/engine.h"
#include "src/engine/var_queue.h"

struct cvp_error;
struct cvp_task_use;

/* Guarded by the engine's lock. */
struct cvp_var {
    convop_var id;
    struct cvp_var *next; /* in the bucket */
    struct cvp_var_queue queue;
    struct cvp_error *error;   /* of its last write; NULL: that succeeded */
    size_t holders;            /* uses that have not ended, and threads that wait for it */
    size_t waiters;            /* of these, the threads */
    int deleted;               /* no longer found; freed when nobody holds it */
    struct cvp_task_use *mark; /* while a task is made: its use of this variable, found in O(1) */
};

/* Chains by the low bits of a number; numbers are counted up, so they spread evenly. All zero is an
 * empty table. */
struct cvp_var_table {
    struct cvp_var **bucket;
    size_t buckets; /* a power of two, or 0 */
    size_t count;
};

/* A number that no variable of this process has had. */
convop_var cvp_var_next_id(void);

/* 1, or 0 if there is no memory. */
int cvp_var_table_add(struct cvp_var_table *table, struct cvp_var *var);

/* NULL if there is none of that number or it is deleted. */
struct cvp_var *cvp_var_table_find(const struct cvp_var_table *table, convop_var id);

void cvp_var_table_remove(struct cvp_var_table *table, struct cvp_var *var);

/* The error of a variable that is not deleted, the one of the task that failed first; or NULL. */
struct cvp_error *cvp_var_table_first_error(const struct cvp_var_table *table);

/* Frees the table and all variables, whoever holds them. */
void cvp_var_table_clear(struct cvp_var_table *table);

#endif
