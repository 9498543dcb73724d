/* What a field is: its size, its limits, whether its table entry can be trusted. The limits hold
 * for values from text and for those in a typed struct alike. */
#include "src/registry/field.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "src/common/status.h"

/* name, C type, alignment */
static const struct {
    const char *name;
    size_t size, align;
} kinds[] = {
    [CONVOP_FIELD_BOOL] = {"boolean", sizeof(int), _Alignof(int)},
    [CONVOP_FIELD_INT] = {"integer", sizeof(int64_t), _Alignof(int64_t)},
    [CONVOP_FIELD_FLOAT] = {"number", sizeof(double), _Alignof(double)},
    [CONVOP_FIELD_ENUM] = {"one of a list", sizeof(int), _Alignof(int)},
    [CONVOP_FIELD_TUPLE] = {"tuple", sizeof(convop_tuple), _Alignof(convop_tuple)},
    [CONVOP_FIELD_BYTES] = {"MiB", sizeof(size_t), _Alignof(size_t)},
};

static int is_kind(convop_field_kind kind)
{
    return (size_t)kind < sizeof kinds / sizeof kinds[0] && kinds[kind].name;
}

size_t cvp_field_size(convop_field_kind kind)
{
    return is_kind(kind) ? kinds[kind].size : 0;
}

const char *cvp_field_kind_name(convop_field_kind kind)
{
    return is_kind(kind) ? kinds[kind].name : "?";
}

convop_status cvp_field_refuse(const struct cvp_field_site *site, const char *format, ...)
{
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!site->text)
        return convop_fail(CONVOP_E_INVALID, "%s: parameter %s: %s", site->op, site->field->name,
                           why);
    const char *cut = strlen(site->text) > 80 ? "..." : "";
    return convop_fail(CONVOP_E_INVALID, "%s: parameter %s=\"%.80s%s\": %s", site->op,
                       site->field->name, site->text, cut, why);
}

/* 2^63 is the first double beyond int64_t; a limit there or above is none. */
static int64_t to_int64(double limit)
{
    if (limit >= 0x1p63) return INT64_MAX;
    if (limit <= -0x1p63) return INT64_MIN;
    return (int64_t)limit;
}

void cvp_field_limits(const convop_field *field, int64_t *min, int64_t *max)
{
    *min = to_int64(ceil(field->min));
    *max = to_int64(floor(field->max));
    if (field->kind != CONVOP_FIELD_BYTES) return;
    const int64_t most = (int64_t)(SIZE_MAX >> CVP_MIB_SHIFT);
    if (*min < 0) *min = 0;
    if (*max > most) *max = most;
}

static convop_status check_double(const struct cvp_field_site *site, double v)
{
    const convop_field *f = site->field;
    /* Written so that a NaN, which is in no range, is refused. */
    if (v >= f->min && v <= f->max) return CONVOP_OK;
    char value[40], min[40], max[40];
    cvp_double_format(v, value, sizeof value);
    cvp_double_format(f->min, min, sizeof min);
    cvp_double_format(f->max, max, sizeof max);
    return cvp_field_refuse(site, "is %s, allowed is %s..%s", value, min, max);
}

static convop_status check_enum(const struct cvp_field_site *site, int value)
{
    for (const convop_enum_value *v = site->field->values; v->name; v++)
        if (v->value == value) return CONVOP_OK;
    return cvp_field_refuse(site, "is %d, which is not in its list of values", value);
}

static convop_status check_tuple(const struct cvp_field_site *site, const convop_tuple *tuple)
{
    int64_t min, max;
    cvp_field_limits(site->field, &min, &max);
    if (tuple->len < 0 || tuple->len > CONVOP_MAX_DIMS)
        return cvp_field_refuse(site, "has %d entries, allowed is 0..%d", tuple->len,
                                CONVOP_MAX_DIMS);
    for (int i = 0; i < tuple->len; i++)
        if (tuple->at[i] < min || tuple->at[i] > max)
            return cvp_field_refuse(site, "entry %d is %lld, allowed is %lld..%lld", i,
                                    (long long)tuple->at[i], (long long)min, (long long)max);
    return CONVOP_OK;
}

static convop_status check_bytes(const struct cvp_field_site *site, size_t bytes)
{
    int64_t min, max;
    cvp_field_limits(site->field, &min, &max);
    const size_t most =
        (size_t)max == SIZE_MAX >> CVP_MIB_SHIFT ? SIZE_MAX : (size_t)max << CVP_MIB_SHIFT;
    if (bytes >= (size_t)min << CVP_MIB_SHIFT && bytes <= most) return CONVOP_OK;
    return cvp_field_refuse(site, "is %zu bytes, allowed is %lld..%lld MiB", bytes, (long long)min,
                            (long long)max);
}

convop_status cvp_field_check_value(const struct cvp_field_site *site, const void *value)
{
    int64_t min, max;
    union cvp_field_value v;
    memcpy(&v, value, cvp_field_size(site->field->kind));
    switch (site->field->kind) {
    case CONVOP_FIELD_BOOL:
        if (v.boolean == 0 || v.boolean == 1) return CONVOP_OK;
        return cvp_field_refuse(site, "is %d, allowed is 0..1", v.boolean);
    case CONVOP_FIELD_INT:
        cvp_field_limits(site->field, &min, &max);
        if (v.integer >= min && v.integer <= max) return CONVOP_OK;
        return cvp_field_refuse(site, "is %lld, allowed is %lld..%lld", (long long)v.integer,
                                (long long)min, (long long)max);
    case CONVOP_FIELD_FLOAT: return check_double(site, v.real);
    case CONVOP_FIELD_ENUM: return check_enum(site, v.choice);
    case CONVOP_FIELD_TUPLE: return check_tuple(site, &v.tuple);
    case CONVOP_FIELD_BYTES: return check_bytes(site, v.bytes);
    }
    return convop_fail(CONVOP_E_INTERNAL, "%s: parameter %s has no kind", site->op,
                       site->field->name);
}

void cvp_field_store(const convop_field *field, const union cvp_field_value *value, void *params)
{
    const size_t bytes = cvp_field_size(field->kind);
    memcpy((char *)params + field->offset, value, bytes);
    if (field->twin_offset) memcpy((char *)params + field->twin_offset, value, bytes);
}

/* The first bytes hold struct_size, so no value is there. */
static int is_place(const convop_field *field, size_t offset, size_t params_size)
{
    const size_t size = kinds[field->kind].size;
    return offset >= sizeof(size_t) && offset % kinds[field->kind].align == 0 &&
           offset <= params_size && size <= params_size - offset;
}

/* The member that cannot be right, with why, or NULL. */
static const char *wrong_member(const convop_field *f, size_t params_size)
{
    const size_t length = strlen(f->name);
    if (length > 4 && strncmp(f->name, "__", 2) == 0 && strcmp(f->name + length - 2, "__") == 0)
        return "name has the form __name__, which is ignored in parameters";
    if (!is_kind(f->kind)) return "kind is none of convop_field_kind";
    if (!is_place(f, f->offset, params_size)) return "offset is not a place for it in the struct";
    if (f->twin_offset && !is_place(f, f->twin_offset, params_size))
        return "twin_offset is not a place for it in the struct";
    if (f->kind == CONVOP_FIELD_ENUM && (!f->values || !f->values[0].name))
        return "values is NULL or empty";
    if (f->kind != CONVOP_FIELD_BOOL && f->kind != CONVOP_FIELD_ENUM && !(f->min <= f->max))
        return "min is not below or at max";
    return NULL;
}

convop_status cvp_field_check_table(const char *op, size_t index, const convop_field *field,
                                    size_t params_size)
{
    /* Fields stand in an array: another size would move the next one. */
    if (field->struct_size != sizeof *field)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's fields[%zu].struct_size is %zu, needed is %zu", op,
                           index, field->struct_size, sizeof *field);
    if (!field->name || !field->name[0])
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's fields[%zu].name is NULL or empty", op, index);
    const char *wrong = wrong_member(field, params_size);
    if (wrong)
        return convop_fail(CONVOP_E_INVALID, "%s: the descriptor's fields[%zu] (%s): %s", op, index,
                           field->name, wrong);
    if (!field->default_text) return CONVOP_OK;
    const struct cvp_field_site site = {op, field, field->default_text};
    union cvp_field_value value;
    return cvp_field_parse(&site, &value);
}
