/* Text to value, one function a kind. The text forms are those that MXNet's symbol files and
 * Python's str() give; what is not one of them is refused in full, never cut off or wrapped around.
 * Source of the forms: MXNet 1.9.1, include/mxnet/tuple.h, and dmlc-core's parameter.h. */
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "src/common/size.h"
#include "src/common/text.h"
#include "src/registry/field.h"

static const char *skip_blanks(const char *p)
{
    while (cvp_is_blank(*p)) p++;
    return p;
}

static int at_end(const char *p)
{
    return *skip_blanks(p) == 0;
}

enum read { READ_OK, READ_NOTHING, READ_TOO_LARGE };

/* Reads [+-]digits at *p and moves it behind them. */
static enum read read_integer(const char **p, int64_t *value)
{
    const char *at = *p;
    const int negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (*at < '0' || *at > '9') return READ_NOTHING;
    int64_t sum = 0;
    int fits = 1;
    for (; *at >= '0' && *at <= '9'; at++) {
        const int64_t digit = *at - '0';
        fits =
            fits && cvp_mul_i64(sum, 10, &sum) && cvp_add_i64(sum, negative ? -digit : digit, &sum);
    }
    *p = at;
    if (!fits) return READ_TOO_LARGE;
    *value = sum;
    return READ_OK;
}

static convop_status too_large(const struct cvp_field_site *site)
{
    int64_t min, max;
    cvp_field_limits(site->field, &min, &max);
    return cvp_field_refuse(site, "does not fit into 64 bits, allowed is %lld..%lld",
                            (long long)min, (long long)max);
}

static convop_status parse_bool(const struct cvp_field_site *site, union cvp_field_value *value)
{
    static const struct {
        const char *name;
        int value;
    } forms[] = {{"true", 1}, {"false", 0}, {"1", 1}, {"0", 0}};
    const char *p = skip_blanks(site->text);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const size_t n = strlen(forms[i].name);
        if (strncasecmp(p, forms[i].name, n) != 0 || !at_end(p + n)) continue;
        value->boolean = forms[i].value;
        return CONVOP_OK;
    }
    return cvp_field_refuse(site, "is no boolean, allowed is True, False, 1, 0");
}

static convop_status parse_int(const struct cvp_field_site *site, union cvp_field_value *value)
{
    const char *p = skip_blanks(site->text);
    const enum read read = read_integer(&p, &value->integer);
    if (read == READ_NOTHING || !at_end(p)) return cvp_field_refuse(site, "is no decimal integer");
    return read == READ_TOO_LARGE ? too_large(site) : CONVOP_OK;
}

static convop_status parse_float(const struct cvp_field_site *site, union cvp_field_value *value)
{
    const char *p = skip_blanks(site->text), *end;
    if (!cvp_double_read(p, &end, &value->real))
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to read parameter %s", site->op,
                           site->field->name);
    if (end == p || !at_end(end)) return cvp_field_refuse(site, "is no number");
    /* An infinity that was not spelled out ("inf" has no digit) is an overflow. */
    if (isinf(value->real) && strpbrk(p, "0123456789"))
        return cvp_field_refuse(site, "does not fit into a double");
    return CONVOP_OK;
}

static convop_status parse_enum(const struct cvp_field_site *site, union cvp_field_value *value)
{
    const char *p = skip_blanks(site->text);
    char names[300];
    struct cvp_text text = cvp_text_in(names, sizeof names);
    for (const convop_enum_value *v = site->field->values; v->name; v++) {
        const size_t n = strlen(v->name);
        if (strncmp(p, v->name, n) == 0 && at_end(p + n)) {
            value->choice = v->value;
            return CONVOP_OK;
        }
        cvp_text_add(&text, "%s%s", v == site->field->values ? "" : ", ", v->name);
    }
    return cvp_field_refuse(site, "is not in the list, allowed is %s", names);
}

/* One entry of a tuple; Python 2 wrote long integers as 3L. */
static enum read read_entry(const char **p, int64_t *value)
{
    *p = skip_blanks(*p);
    const enum read read = read_integer(p, value);
    if (read != READ_NOTHING && **p == 'L') ++*p;
    *p = skip_blanks(*p);
    return read;
}

/* Reads the entries behind an opening bracket up to close. 0: that is not a tuple. */
static int read_entries(const char **p, char close, convop_tuple *tuple, int *count,
                        int *too_large_at)
{
    *p = skip_blanks(*p);
    while (**p != close) {
        int64_t entry = 0;
        const enum read read = read_entry(p, &entry);
        if (read == READ_NOTHING) return 0;
        if (read == READ_TOO_LARGE && *too_large_at < 0) *too_large_at = *count;
        /* Too many are counted all the same: the field's limits refuse them. */
        if (*count < CONVOP_MAX_DIMS) tuple->at[*count] = entry;
        if (*count < INT_MAX) ++*count;
        if (**p == ',')
            *p = skip_blanks(*p + 1);
        else if (**p != close)
            return 0;
    }
    ++*p;
    return 1;
}

static convop_status parse_tuple(const struct cvp_field_site *site, union cvp_field_value *value)
{
    const char *p = skip_blanks(site->text);
    convop_tuple tuple = {0, {0}};
    int count = 0, too_large_at = -1, ok;
    if (strncmp(p, "None", 4) == 0) {
        p += 4;
        ok = 1;
    } else if (*p == '(' || *p == '[') {
        const char close = *p == '(' ? ')' : ']';
        p++;
        ok = read_entries(&p, close, &tuple, &count, &too_large_at);
    } else {
        const enum read read = read_entry(&p, &tuple.at[0]);
        ok = read != READ_NOTHING;
        count = 1;
        if (read == READ_TOO_LARGE) too_large_at = 0;
    }
    if (!ok || !at_end(p))
        return cvp_field_refuse(site, "is no tuple of integers, such as (3,3), [3,3], (3,) or 3");
    if (too_large_at >= 0) {
        int64_t min, max;
        cvp_field_limits(site->field, &min, &max);
        return cvp_field_refuse(site, "entry %d does not fit into 64 bits, allowed is %lld..%lld",
                                too_large_at, (long long)min, (long long)max);
    }
    tuple.len = count;
    value->tuple = tuple;
    return CONVOP_OK;
}

/* "512" is 512 MiB, as MXNet's workspace. "1000B" is convop's own form, for what is no whole MiB.
 */
static convop_status parse_bytes(const struct cvp_field_site *site, union cvp_field_value *value)
{
    const char *p = skip_blanks(site->text);
    int64_t n = 0, min, max;
    const enum read read = read_integer(&p, &n);
    const int single = *p == 'B';
    p += single;
    if (read == READ_NOTHING || !at_end(p))
        return cvp_field_refuse(site, "is no whole number of MiB, nor of bytes as in 4096B");
    if (read == READ_TOO_LARGE) return too_large(site);
    cvp_field_limits(site->field, &min, &max);
    if (single ? n < 0 : n < min || n > max)
        return cvp_field_refuse(site, "is %lld, allowed is %lld..%lld MiB", (long long)n,
                                (long long)min, (long long)max);
    value->bytes = single ? (size_t)n : (size_t)n << CVP_MIB_SHIFT;
    return CONVOP_OK;
}

convop_status cvp_field_parse(const struct cvp_field_site *site, union cvp_field_value *value)
{
    convop_status status = CONVOP_E_INTERNAL;
    union cvp_field_value v;
    memset(&v, 0, sizeof v);
    switch (site->field->kind) {
    case CONVOP_FIELD_BOOL: status = parse_bool(site, &v); break;
    case CONVOP_FIELD_INT: status = parse_int(site, &v); break;
    case CONVOP_FIELD_FLOAT: status = parse_float(site, &v); break;
    case CONVOP_FIELD_ENUM: status = parse_enum(site, &v); break;
    case CONVOP_FIELD_TUPLE: status = parse_tuple(site, &v); break;
    case CONVOP_FIELD_BYTES: status = parse_bytes(site, &v); break;
    }
    if (status == CONVOP_OK) status = cvp_field_check_value(site, &v);
    if (status == CONVOP_OK) *value = v;
    return status;
}
