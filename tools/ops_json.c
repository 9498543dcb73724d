/* An operator as JSON: what a generator of bindings needs, straight from the descriptor. */
#include <stdio.h>

#include "tools/json.h"
#include "tools/ops.h"

static void text_member(const char *key, const char *text)
{
    json_key(key, 0);
    json_string(text);
}

static void number_member(const char *key, double value)
{
    json_key(key, 0);
    json_number(value);
}

/* A bound that says nothing is null. */
static void bound_member(const char *key, double value, int known)
{
    json_key(key, 0);
    if (known)
        json_number(value);
    else
        fputs("null", stdout);
}

static void write_args(const char *key, const convop_arg *args, int n)
{
    json_key(key, 0);
    putchar('[');
    for (int i = 0; i < n; i++) {
        fputs(i ? ", {" : "{", stdout);
        json_key("name", 1);
        json_string(args[i].name);
        text_member("doc", args[i].doc);
        putchar('}');
    }
    putchar(']');
}

static void write_values(const convop_enum_value *values)
{
    json_key("values", 0);
    putchar('[');
    for (int i = 0; values && values[i].name; i++) {
        fputs(i ? ", {" : "{", stdout);
        json_key("name", 1);
        json_string(values[i].name);
        number_member("value", values[i].value);
        putchar('}');
    }
    putchar(']');
}

static const char *c_type(convop_field_kind kind)
{
    switch (kind) {
    case CONVOP_FIELD_BOOL:
    case CONVOP_FIELD_ENUM: return "int";
    case CONVOP_FIELD_INT: return "int64_t";
    case CONVOP_FIELD_FLOAT: return "double";
    case CONVOP_FIELD_TUPLE: return "convop_tuple";
    case CONVOP_FIELD_BYTES: return "size_t";
    }
    return NULL;
}

static void write_field(const convop_field *f)
{
    putchar('{');
    json_key("name", 1);
    json_string(f->name);
    text_member("type", ops_kind_name(f->kind));
    text_member("c_type", c_type(f->kind));
    number_member("offset", (double)f->offset);
    json_key("twin_offset", 0);
    if (f->twin_offset)
        json_number((double)f->twin_offset);
    else
        fputs("null", stdout);
    json_key("required", 0);
    fputs(f->default_text ? "false" : "true", stdout);
    text_member("default", f->default_text);
    bound_member("min", f->min, ops_has_min(f));
    bound_member("max", f->max, ops_has_max(f));
    if (f->kind == CONVOP_FIELD_ENUM) write_values(f->values);
    text_member("doc", f->doc);
    putchar('}');
}

/* Values are pointers whose meaning the type states; only names of operators are known here. */
static void write_attrs(const convop_op *op)
{
    json_key("attributes", 0);
    putchar('[');
    for (size_t i = 0; i < op->num_attrs; i++) {
        const convop_attr *a = &op->attrs[i];
        fputs(i ? ", {" : "{", stdout);
        json_key("key", 1);
        json_string(a->key);
        text_member("type", a->type);
        const void *value = NULL;
        if (convop_op_attr(op, a->key, "op-name", &value) == CONVOP_OK)
            text_member("value", (const char *)value);
        putchar('}');
    }
    putchar(']');
}

void ops_json(const convop_op *op)
{
    putchar('{');
    json_key("name", 1);
    json_string(op->name);
    text_member("doc", op->doc);
    number_member("level", op->level);
    number_member("params_size", (double)op->params_size);
    number_member("max_inputs", op->max_inputs);
    number_member("max_outputs", op->max_outputs);
    /* 1: some parameters use fewer of them than there are. */
    json_key("inputs_vary", 0);
    fputs(op->num_inputs ? "true" : "false", stdout);
    json_key("outputs_vary", 0);
    fputs(op->num_outputs ? "true" : "false", stdout);
    write_args("inputs", op->inputs, op->max_inputs);
    write_args("outputs", op->outputs, op->max_outputs);
    json_key("parameters", 0);
    putchar('[');
    for (size_t i = 0; i < op->num_fields; i++) {
        if (i) fputs(", ", stdout);
        write_field(&op->fields[i]);
    }
    putchar(']');
    write_attrs(op);
    putchar('}');
}
