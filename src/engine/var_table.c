/* See var_table.h. */
#include "src/engine/var_table.h"

#include <stdatomic.h>
#include <stddef.h>

#include "src/common/alloc.h"
#include "src/engine/error.h"

#define FIRST_BUCKETS 64

convop_var cvp_var_next_id(void)
{
    static _Atomic convop_var last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static struct cvp_var **bucket_of(const struct cvp_var_table *table, convop_var id)
{
    return &table->bucket[id & (table->buckets - 1)];
}

static void link_var(struct cvp_var_table *table, struct cvp_var *var)
{
    struct cvp_var **bucket = bucket_of(table, var->id);
    var->next = *bucket;
    *bucket = var;
}

/* Without memory for more buckets the chains grow, so only the first ones are needed. */
static int grow(struct cvp_var_table *table)
{
    size_t buckets = table->buckets > 0 ? 2 * table->buckets : FIRST_BUCKETS;
    struct cvp_var **bucket = cvp_calloc(buckets, sizeof(struct cvp_var *));
    if (bucket == NULL) return table->buckets > 0;
    struct cvp_var_table old = *table;
    table->bucket = bucket;
    table->buckets = buckets;
    for (size_t i = 0; i < old.buckets; i++) {
        for (struct cvp_var *var = old.bucket[i], *next; var != NULL; var = next) {
            next = var->next;
            link_var(table, var);
        }
    }
    cvp_free(old.bucket);
    return 1;
}

int cvp_var_table_add(struct cvp_var_table *table, struct cvp_var *var)
{
    if (table->count >= table->buckets && !grow(table)) return 0;
    link_var(table, var);
    table->count++;
    return 1;
}

struct cvp_var *cvp_var_table_find(const struct cvp_var_table *table, convop_var id)
{
    if (table->buckets == 0) return NULL;
    struct cvp_var *var = *bucket_of(table, id);
    while (var != NULL && var->id != id) var = var->next;
    return var != NULL && !var->deleted ? var : NULL;
}

void cvp_var_table_remove(struct cvp_var_table *table, struct cvp_var *var)
{
    struct cvp_var **at = bucket_of(table, var->id);
    while (*at != var) at = &(*at)->next;
    *at = var->next;
    table->count--;
}

struct cvp_error *cvp_var_table_first_error(const struct cvp_var_table *table)
{
    struct cvp_error *first = NULL;
    for (size_t i = 0; i < table->buckets; i++) {
        for (const struct cvp_var *var = table->bucket[i]; var != NULL; var = var->next) {
            if (var->error == NULL || var->deleted) continue;
            if (first == NULL || var->error->order < first->order) first = var->error;
        }
    }
    return first;
}

void cvp_var_table_clear(struct cvp_var_table *table)
{
    for (size_t i = 0; i < table->buckets; i++) {
        for (struct cvp_var *var = table->bucket[i], *next; var != NULL; var = next) {
            next = var->next;
            cvp_error_drop(var->error);
            cvp_free(var);
        }
    }
    cvp_free(table->bucket);
    *table = (struct cvp_var_table){NULL, 0, 0};
}
