/* A whole parameter struct: filled from text, or checked as a caller filled it. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/registry/descriptor.h"
#include "src/registry/field.h"
#include "src/registry/registry_internal.h"

/* MXNet's rule for attributes of a node that are no parameters. */
static int is_hidden(const char *key)
{
    const size_t n = strlen(key);
    return n > 4 && strncmp(key, "__", 2) == 0 && strcmp(key + n - 2, "__") == 0;
}

/* The index of a field, num_fields if there is none. */
static size_t find_field(const convop_op *op, const char *key)
{
    size_t i = 0;
    while (i < op->num_fields && strcmp(op->fields[i].name, key) != 0) i++;
    return i;
}

#define MOST_NAMES 64

static convop_status unknown_key(const convop_op *op, const char *key)
{
    const char *names[MOST_NAMES];
    const size_t n = op->num_fields < MOST_NAMES ? op->num_fields : MOST_NAMES;
    char known[400];
    struct cvp_text text = cvp_text_in(known, sizeof known);
    for (size_t i = 0; i < n; i++) {
        names[i] = op->fields[i].name;
        cvp_text_add(&text, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (n == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: there is no parameter \"%.80s\", it has none",
                           op->name, key);
    const char *nearest = cvp_nearest(key, names, n);
    if (!nearest)
        return convop_fail(CONVOP_E_INVALID, "%s: there is no parameter \"%.80s\"; known are %s",
                           op->name, key, known);
    return convop_fail(CONVOP_E_INVALID,
                       "%s: there is no parameter \"%.80s\"; did you mean \"%s\"? Known are %s",
                       op->name, key, nearest, known);
}

static convop_status set_field(const convop_op *op, size_t index, const char *text, void *params)
{
    const struct cvp_field_site site = {op->name, &op->fields[index], text};
    union cvp_field_value value;
    CVP_RETURN_IF_ERROR(cvp_field_parse(&site, &value));
    cvp_field_store(&op->fields[index], &value, params);
    return CONVOP_OK;
}

/* given: one byte a field, set to 1 where a pair named it. */
static convop_status set_pair(const convop_op *op, const char *key, const char *value, void *params,
                              unsigned char *given)
{
    if (is_hidden(key)) return CONVOP_OK;
    const size_t index = find_field(op, key);
    if (index == op->num_fields) return unknown_key(op, key);
    if (given[index])
        return convop_fail(CONVOP_E_INVALID, "%s: parameter %s is given twice", op->name, key);
    if (!value)
        return convop_fail(CONVOP_E_INVALID, "%s: the text of parameter %s is NULL", op->name, key);
    given[index] = 1;
    return set_field(op, index, value, params);
}

static convop_status set_defaults(const convop_op *op, void *params)
{
    memcpy(params, &op->params_size, sizeof op->params_size);
    for (size_t i = 0; i < op->num_fields; i++)
        if (op->fields[i].default_text)
            CVP_RETURN_IF_ERROR(set_field(op, i, op->fields[i].default_text, params));
    return CONVOP_OK;
}

static convop_status fill(const convop_op *op, size_t n, const char *const *keys,
                          const char *const *values, void *params, unsigned char *given)
{
    CVP_RETURN_IF_ERROR(set_defaults(op, params));
    for (size_t i = 0; i < n; i++) {
        if (!keys[i]) return convop_fail(CONVOP_E_INVALID, "%s: keys[%zu] is NULL", op->name, i);
        CVP_RETURN_IF_ERROR(set_pair(op, keys[i], values[i], params, given));
    }
    for (size_t i = 0; i < op->num_fields; i++)
        if (!op->fields[i].default_text && !given[i])
            return convop_fail(CONVOP_E_INVALID, "%s: parameter %s (%s) is required", op->name,
                               op->fields[i].name, cvp_field_kind_name(op->fields[i].kind));
    return op->check ? op->check(params) : CONVOP_OK;
}

convop_status convop_params_parse(const convop_op *op, size_t n, const char *const *keys,
                                  const char *const *values, void *params, size_t params_size)
{
    CVP_RETURN_IF_ERROR(cvp_descriptor_usable("convop_params_parse", op));
    if (n > 0 && (!keys || !values))
        return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL, but n is %zu", op->name,
                           keys ? "values" : "keys", n);
    if (!params) return convop_fail(CONVOP_E_INVALID, "%s: params is NULL", op->name);
    if (params_size < op->params_size)
        return convop_fail(CONVOP_E_INVALID, "%s: params_size is %zu, needed is %zu", op->name,
                           params_size, op->params_size);
    /* What is given stands behind the struct: one allocation. */
    unsigned char *own = cvp_calloc(1, op->params_size + op->num_fields);
    if (!own)
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for %zu bytes of parameters",
                           op->name, op->params_size);
    const convop_status status = fill(op, n, keys, values, own, own + op->params_size);
    if (status == CONVOP_OK) {
        memcpy(params, own, op->params_size);
        memset((char *)params + op->params_size, 0, params_size - op->params_size);
    }
    cvp_free(own);
    return status;
}

#define MAX_TAIL 4096

static convop_status check_size(const convop_op *op, const void *params)
{
    size_t size;
    memcpy(&size, params, sizeof size);
    if (size < op->params_size)
        return convop_fail(CONVOP_E_INVALID, "%s: params->struct_size is %zu, needed is %zu",
                           op->name, size, op->params_size);
    /* Far beyond it struct_size was not set; reading that far would leave the caller's memory. */
    if (size - op->params_size > MAX_TAIL)
        return convop_fail(CONVOP_E_INVALID, "%s: params->struct_size is %zu, expected is %zu",
                           op->name, size, op->params_size);
    for (size_t i = op->params_size; i < size; i++)
        if (((const unsigned char *)params)[i] != 0)
            return convop_fail(CONVOP_E_INVALID,
                               "%s: byte %zu of params is set, this convop knows %zu bytes",
                               op->name, i, op->params_size);
    return CONVOP_OK;
}

convop_status cvp_params_check(const convop_op *op, const void *params)
{
    CVP_RETURN_IF_ERROR(check_size(op, params));
    for (size_t i = 0; i < op->num_fields; i++) {
        const convop_field *field = &op->fields[i];
        const struct cvp_field_site site = {op->name, field, NULL};
        CVP_RETURN_IF_ERROR(cvp_field_check_value(&site, (const char *)params + field->offset));
        if (field->twin_offset)
            CVP_RETURN_IF_ERROR(
                cvp_field_check_value(&site, (const char *)params + field->twin_offset));
    }
    return op->check ? op->check(params) : CONVOP_OK;
}

convop_status cvp_params_read(const convop_op *op, const void *from, void *to)
{
    if (!from) return convop_fail(CONVOP_E_INVALID, "%s: params is NULL", op->name);
    memset(to, 0, op->params_size);
    CVP_RETURN_IF_ERROR(set_defaults(op, to));
    CVP_RETURN_IF_ERROR(cvp_read_struct(to, op->params_size, from, op->name));
    return cvp_params_check(op, to);
}
