/* One parameter field: text to value, value to text, and the limits that hold for both ways in. */
#ifndef CVP_REGISTRY_FIELD_H
#define CVP_REGISTRY_FIELD_H

#include <stdio.h>

#include "convop/registry.h"

#define CVP_MIB_SHIFT 20

/* Room for the value of any kind. */
union cvp_field_value {
    int boolean, choice;
    int64_t integer;
    double real;
    convop_tuple tuple;
    size_t bytes;
};

/* Which parameter an error text is about. */
struct cvp_field_site {
    const char *op;
    const convop_field *field;
    const char *text; /* as given; NULL where the value came in a typed struct */
};

/* Sets "Convolution: parameter stride="(0,1)": <format>" and returns INVALID. */
convop_status cvp_field_refuse(const struct cvp_field_site *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

size_t cvp_field_size(convop_field_kind kind);           /* 0: no such kind */
const char *cvp_field_kind_name(convop_field_kind kind); /* "tuple" */

/* Refuses a table entry that could not be trusted: kind, place, range, default. */
convop_status cvp_field_check_table(const char *op, size_t index, const convop_field *field,
                                    size_t params_size);

/* text -> *value, within the field's limits. value is untouched on failure. */
convop_status cvp_field_parse(const struct cvp_field_site *site, union cvp_field_value *value);

/* Writes the value to the field's place, and to the second one that it may have. */
void cvp_field_store(const convop_field *field, const union cvp_field_value *value, void *params);

/* Refuses a value outside of the field's limits. value is at the field's offset or a copy. */
convop_status cvp_field_check_value(const struct cvp_field_site *site, const void *value);

/* The limits of INT, TUPLE entries (units) and BYTES (MiB) as integers. */
void cvp_field_limits(const convop_field *field, int64_t *min, int64_t *max);

/* Locale-independent: snprintf's %g with as few digits as read back to the same value, 15 to 17. */
size_t cvp_double_format(double value, char *text, size_t size);
/* Reads a double at text. *end is text if there is none. Returns 0 if memory for it is short. */
int cvp_double_read(const char *text, const char **end, double *value);

/* 1 for the characters that may stand around a value. */
static inline int cvp_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
