/* convop ops: what the registry knows. */
#include <argp.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli.h"
#include "tools/ops.h"

struct arguments {
    const char *name;
    const char *problem; /* a descriptor; NULL: the operator itself is shown */
    int json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Write JSON: an array of operators, or the one that is named", 0},
    {"problem", 'p', "DESCRIPTOR", 0,
     "With Convolution: every implementation, and why it takes this problem or not", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'j': a->json = 1; return 0;
    case 'p': a->problem = arg; return 0;
    case ARGP_KEY_END:
        if (a->problem && (!a->name || strcmp(a->name, "Convolution") != 0))
            argp_error(state, "--problem goes with Convolution");
        return 0;
    case ARGP_KEY_ARG:
        if (a->name) argp_error(state, "one name at most, not also \"%s\"", arg);
        a->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[NAME]",
    .doc = "Lists the operators, or describes one: inputs, outputs and parameters.\v"
           "Examples:\n"
           "  convop ops\n"
           "  convop ops Convolution\n"
           "  convop ops Convolution --problem=g32mb1ic32ih112oc32kh3ph1\n"
           "  convop ops --json > operators.json",
};

const char *ops_kind_name(convop_field_kind kind)
{
    switch (kind) {
    case CONVOP_FIELD_BOOL: return "bool";
    case CONVOP_FIELD_INT: return "int";
    case CONVOP_FIELD_FLOAT: return "float";
    case CONVOP_FIELD_ENUM: return "enum";
    case CONVOP_FIELD_TUPLE: return "tuple";
    case CONVOP_FIELD_BYTES: return "bytes";
    }
    return "unknown";
}

/* Where a bound is as far out as the type goes, it says nothing: 2^63 for integers. */
static double bound(const convop_field *field)
{
    if (field->kind == CONVOP_FIELD_BOOL || field->kind == CONVOP_FIELD_ENUM) return 0;
    return field->kind == CONVOP_FIELD_FLOAT ? DBL_MAX : 9.2e18;
}

int ops_has_min(const convop_field *field)
{
    return bound(field) > 0 && field->min > -bound(field);
}

int ops_has_max(const convop_field *field)
{
    return bound(field) > 0 && field->max < bound(field);
}

static int show_one(const char *name, int json)
{
    const convop_op *op = NULL;
    if (convop_op_find(name, &op) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    if (json) {
        ops_json(op);
        putchar('\n');
    } else {
        ops_page(op);
    }
    convop_op_release(&op);
    return CLI_OK;
}

static int show_all(int json)
{
    convop_op_listing *listing = NULL;
    if (convop_op_list(&listing) != CONVOP_OK) return cli_fail("%s", convop_last_error());
    if (!json) ops_table(listing);
    size_t n = json ? convop_op_listing_count(listing) : 0;
    for (size_t i = 0; i < n; i++) {
        fputs(i == 0 ? "[" : ",\n", stdout);
        ops_json(convop_op_listing_at(listing, i));
    }
    if (json) puts(n == 0 ? "[]" : "]");
    convop_op_listing_destroy(&listing);
    return CLI_OK;
}

int cli_ops(int argc, char **argv)
{
    struct arguments a = {NULL, NULL, 0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (cli_check_settings() != CLI_OK) return CLI_FAILURE;
    if (a.problem) return ops_rows(a.problem, a.json);
    return a.name ? show_one(a.name, a.json) : show_all(a.json);
}
