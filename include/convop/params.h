/* Parameters of operators: text key/value pairs or a typed struct, tied together by one table of
 * fields from which defaults, ranges, enums, documentation and error texts come. Since 0.1. */
#ifndef CONVOP_PARAMS_H
#define CONVOP_PARAMS_H

#include "convop/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tuple of integers, as in kernel=(3,3). len 0 is "not given". */
typedef struct convop_tuple {
    int len;
    int64_t at[CONVOP_MAX_DIMS];
} convop_tuple;

static inline convop_tuple convop_tuple1(int64_t w)
{
    convop_tuple t = {1, {0}};
    t.at[0] = w;
    return t;
}

static inline convop_tuple convop_tuple2(int64_t h, int64_t w)
{
    convop_tuple t = {2, {0}};
    t.at[0] = h;
    t.at[1] = w;
    return t;
}

static inline convop_tuple convop_tuple3(int64_t d, int64_t h, int64_t w)
{
    convop_tuple t = {3, {0}};
    t.at[0] = d;
    t.at[1] = h;
    t.at[2] = w;
    return t;
}

/** What a field holds, and the C type at its offset. */
typedef enum convop_field_kind {
    CONVOP_FIELD_BOOL = 1,  /* int, 0 or 1. Text: true false True False 1 0 */
    CONVOP_FIELD_INT = 2,   /* int64_t. Text: a decimal integer, nothing after it but blanks */
    CONVOP_FIELD_FLOAT = 3, /* double. Text: as in C, whatever the locale */
    CONVOP_FIELD_ENUM = 4,  /* int. Text: a name of the table, or None where the table has it */
    CONVOP_FIELD_TUPLE = 5, /* convop_tuple. Text: (3,3) [3,3] (3,) 3 () None */
    CONVOP_FIELD_BYTES = 6  /* size_t. Text: a whole number of MiB, as MXNet's workspace; or of
                             * bytes, as 4096B */
} convop_field_kind;

typedef struct convop_enum_value {
    const char *name;
    int value;
} convop_enum_value;

/** One parameter. Tables are const and outlive the operator. */
typedef struct convop_field {
    size_t struct_size;
    const char *name;
    convop_field_kind kind;
    size_t offset;      /* in the typed struct */
    size_t twin_offset; /* a second place that gets the same value (pad: begin and end); 0: none */
    const char *default_text; /* NULL: required */
    double min, max; /* INT, FLOAT, BYTES (in MiB) and each entry of a TUPLE, both allowed */
    const convop_enum_value *values; /* ENUM: ends with a NULL name */
    const char *doc;
} convop_field;

#ifdef __cplusplus
}
#endif

#endif
