/* Value to text: what param_text.c reads back to the same value. Forms that MXNet reads too, but
 * for a number of bytes that is no whole MiB, which MXNet cannot say. */
#include <string.h>

#include "src/common/text.h"
#include "src/registry/field.h"

static void add_double(struct cvp_text *text, double value)
{
    char digits[40];
    cvp_double_format(value, digits, sizeof digits);
    cvp_text_add(text, "%s", digits);
}

static void add_enum(struct cvp_text *text, const convop_enum_value *values, int value)
{
    for (; values && values->name; values++) {
        if (values->value != value) continue;
        cvp_text_add(text, "%s", values->name);
        return;
    }
    cvp_text_add(text, "%d", value);
}

static void add_tuple(struct cvp_text *text, const convop_tuple *tuple)
{
    /* A length out of range is shown by what can be read of it. */
    const int len = tuple->len > CONVOP_MAX_DIMS ? CONVOP_MAX_DIMS : tuple->len;
    cvp_text_add(text, "(");
    for (int i = 0; i < len; i++)
        cvp_text_add(text, "%s%lld", i == 0 ? "" : ", ", (long long)tuple->at[i]);
    cvp_text_add(text, len == 1 ? ",)" : ")");
}

static void add_bytes(struct cvp_text *text, size_t bytes)
{
    const size_t mib = bytes >> CVP_MIB_SHIFT;
    if (mib << CVP_MIB_SHIFT == bytes)
        cvp_text_add(text, "%zu", mib);
    else
        cvp_text_add(text, "%zuB", bytes);
}

size_t convop_params_format(const convop_field *field, const void *params, char *text, size_t size)
{
    if (!text) size = 0;
    char nothing[1];
    struct cvp_text out = cvp_text_in(size ? text : nothing, size ? size : 1);
    const size_t bytes =
        field && field->struct_size >= sizeof *field && params ? cvp_field_size(field->kind) : 0;
    if (bytes == 0) {
        if (size) text[0] = 0;
        return 0;
    }
    union cvp_field_value v;
    memcpy(&v, (const char *)params + field->offset, bytes);
    switch (field->kind) {
    case CONVOP_FIELD_BOOL: cvp_text_add(&out, v.boolean ? "True" : "False"); break;
    case CONVOP_FIELD_INT: cvp_text_add(&out, "%lld", (long long)v.integer); break;
    case CONVOP_FIELD_FLOAT: add_double(&out, v.real); break;
    case CONVOP_FIELD_ENUM: add_enum(&out, field->values, v.choice); break;
    case CONVOP_FIELD_TUPLE: add_tuple(&out, &v.tuple); break;
    case CONVOP_FIELD_BYTES: add_bytes(&out, v.bytes); break;
    }
    return out.need;
}
