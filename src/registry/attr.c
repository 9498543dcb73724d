/* Attributes: an operator's own, at the operator's level, and those attached to its name at run
 * time. A key has one type in the whole process, so that who reads it need not ask whose it is.
 * Source of the rules (levels, equal level is an error, one type a key): NNVM's operator
 * attributes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/registry/descriptor.h"
#include "src/registry/table.h"

/* One that was registered at run time. Immutable; the list is guarded by the table's lock. */
struct attr_node {
    struct attr_node *next;
    int level;
    const void *value;
    const char *op_name, *key, *type; /* in text */
    char text[];
};

static struct attr_node *nodes;

static const convop_attr *own_attr(const convop_op *op, const char *key)
{
    for (size_t i = 0; i < op->num_attrs; i++)
        if (strcmp(op->attrs[i].key, key) == 0) return &op->attrs[i];
    return NULL;
}

static struct attr_node **find_node(const char *op_name, const char *key, int level)
{
    for (struct attr_node **at = &nodes; *at; at = &(*at)->next)
        if ((*at)->level == level && strcmp((*at)->op_name, op_name) == 0 &&
            strcmp((*at)->key, key) == 0)
            return at;
    return NULL;
}

static int is_taken(const char *op_name, const char *key, int level)
{
    if (find_node(op_name, key, level)) return 1;
    const convop_op *op;
    for (struct cvp_op_cursor c = cvp_table_begin(); (op = cvp_table_next(&c)) != NULL;)
        if (op->level == level && strcmp(op->name, op_name) == 0 && own_attr(op, key)) return 1;
    return 0;
}

/* The type that another user of the key gives it, NULL if there is none or all agree. */
static const char *other_type(const char *key, const char *type, const char **user)
{
    for (const struct attr_node *node = nodes; node; node = node->next) {
        if (strcmp(node->key, key) != 0 || strcmp(node->type, type) == 0) continue;
        *user = node->op_name;
        return node->type;
    }
    const convop_op *op;
    for (struct cvp_op_cursor c = cvp_table_begin(); (op = cvp_table_next(&c)) != NULL;) {
        const convop_attr *attr = own_attr(op, key);
        if (!attr || strcmp(attr->type, type) == 0) continue;
        *user = op->name;
        return attr->type;
    }
    return NULL;
}

int cvp_attr_may_add(const char *op_name, const char *key, const char *type, int level,
                     struct cvp_conflict *conflict)
{
    const char *user, *other = other_type(key, type, &user);
    if (other) {
        conflict->status = CONVOP_E_INVALID;
        snprintf(conflict->text, sizeof conflict->text,
                 "attribute \"%.40s\" has type \"%.40s\", but %.40s has it with type \"%.40s\"",
                 key, type, user, other);
        return 0;
    }
    if (is_taken(op_name, key, level)) {
        conflict->status = CONVOP_E_STATE;
        snprintf(conflict->text, sizeof conflict->text,
                 "attribute \"%.40s\" is taken at level %d; a higher level overrides it", key,
                 level);
        return 0;
    }
    return 1;
}

/* A node with its own copies of the names; NULL without memory. */
static struct attr_node *make_node(const char *op_name, const convop_attr *attr, int level)
{
    const size_t a = strlen(op_name) + 1, b = strlen(attr->key) + 1, c = strlen(attr->type) + 1;
    size_t bytes;
    if (!cvp_add_size(a, b, &bytes) || !cvp_add_size(bytes, c, &bytes) ||
        !cvp_add_size(bytes, sizeof(struct attr_node), &bytes))
        return NULL;
    struct attr_node *node = cvp_malloc(bytes);
    if (!node) return NULL;
    node->next = NULL;
    node->level = level;
    node->value = attr->value;
    node->op_name = memcpy(node->text, op_name, a);
    node->key = memcpy(node->text + a, attr->key, b);
    node->type = memcpy(node->text + a + b, attr->type, c);
    return node;
}

convop_status convop_attr_register(const char *op_name, const convop_attr *attr, int level)
{
    static const char caller[] = "convop_attr_register";
    if (!op_name) return convop_fail(CONVOP_E_INVALID, "%s: op_name is NULL", caller);
    if (!attr) return convop_fail(CONVOP_E_INVALID, "%s: attr is NULL", caller);
    convop_attr own = {0, NULL, NULL, NULL};
    CVP_RETURN_IF_ERROR(cvp_read_struct(&own, sizeof own, attr, "convop_attr"));
    own.struct_size = sizeof own;
    CVP_RETURN_IF_ERROR(cvp_descriptor_check_attr(op_name, &own));
    if (level < 1)
        return convop_fail(CONVOP_E_INVALID, "%s: level is %d, allowed is 1..%d", caller, level,
                           INT_MAX);
    struct attr_node *node = make_node(op_name, &own, level);
    if (!node)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for \"%.40s\"", caller, own.key);

    struct cvp_conflict conflict = {CONVOP_E_NOT_FOUND, "there is no operator of this name"};
    cvp_table_lock();
    const int added =
        cvp_table_find(op_name) && cvp_attr_may_add(op_name, own.key, own.type, level, &conflict);
    if (added) {
        node->next = nodes;
        nodes = node;
    }
    cvp_table_unlock();
    if (added) return CONVOP_OK;
    cvp_free(node);
    return convop_fail(conflict.status, "%s: \"%.80s\": %s", caller, op_name, conflict.text);
}

convop_status convop_attr_unregister(const char *op_name, const char *key, int level)
{
    static const char caller[] = "convop_attr_unregister";
    if (!op_name || !key)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL", caller, op_name ? "key" : "op_name");
    struct attr_node *node = NULL;
    cvp_table_lock();
    struct attr_node **at = find_node(op_name, key, level);
    if (at) {
        node = *at;
        *at = node->next;
    }
    cvp_table_unlock();
    if (!node)
        return convop_fail(CONVOP_E_NOT_FOUND,
                           "%s: nothing was registered for \"%.80s\" as \"%.40s\" at level %d",
                           caller, op_name, key, level);
    cvp_free(node);
    return CONVOP_OK;
}

convop_status convop_op_attr(const convop_op *op, const char *key, const char *type,
                             const void **value)
{
    static const char caller[] = "convop_op_attr";
    if (!value) return convop_fail(CONVOP_E_INVALID, "%s: value is NULL", caller);
    *value = NULL;
    CVP_RETURN_IF_ERROR(cvp_descriptor_usable(caller, op));
    if (!key || !type)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL", caller, key ? "type" : "key");

    char has_type[64] = "";
    const void *found = NULL;
    const convop_attr *own = own_attr(op, key);
    int level = own ? op->level : 0, same_type = 0;
    if (own) {
        found = own->value;
        same_type = strcmp(own->type, type) == 0;
        snprintf(has_type, sizeof has_type, "%s", own->type);
    }
    /* The node may go as soon as the lock is free: all that is told of it is copied. */
    cvp_table_lock();
    for (const struct attr_node *node = nodes; node; node = node->next) {
        if (node->level <= level || strcmp(node->op_name, op->name) != 0 ||
            strcmp(node->key, key) != 0)
            continue;
        level = node->level;
        found = node->value;
        same_type = strcmp(node->type, type) == 0;
        snprintf(has_type, sizeof has_type, "%s", node->type);
    }
    cvp_table_unlock();
    if (level == 0)
        return convop_fail(CONVOP_E_NOT_FOUND, "%s: has no attribute \"%.80s\"", op->name, key);
    if (!same_type)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: attribute \"%.80s\" has type \"%s\", asked for as \"%.64s\"",
                           op->name, key, has_type, type);
    *value = found;
    return CONVOP_OK;
}
