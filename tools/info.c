/* convop info: what the library found on this machine, and what is set. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "convop/info.h"
#include "convop/settings.h"
#include "tools/cli.h"
#include "tools/json.h"

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Write one JSON object", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    int *json = state->input;
    switch (key) {
    case 'j': *json = 1; return 0;
    case ARGP_KEY_ARG: argp_error(state, "it takes no argument, not \"%s\"", arg); return EINVAL;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .doc = "Shows what convop found on this machine and why: CPU, instruction set, threads, "
           "libraries, GPU; and every setting with its value and where that comes from.\v"
           "Examples:\n"
           "  convop info\n"
           "  CONVOP_ISA=avx2 convop info\n"
           "  convop info --json\n\n"
           "Exit status: 1 if a setting has a value that does not parse.",
};

static const char *origin_name(const convop_setting_info *s)
{
    switch (s->origin) {
    case CONVOP_ORIGIN_DEFAULT: return "default";
    case CONVOP_ORIGIN_ENVIRONMENT: return "environment";
    case CONVOP_ORIGIN_CALL: return "call";
    }
    return "unknown";
}

static void text_member(const char *key, const char *text)
{
    json_key(key, 0);
    json_string(text);
}

static int item_at(size_t index, convop_info_item *item)
{
    memset(item, 0, sizeof *item);
    item->struct_size = sizeof *item;
    return convop_info(index, item) == CONVOP_OK;
}

static int setting_at(size_t index, convop_setting_info *s)
{
    memset(s, 0, sizeof *s);
    s->struct_size = sizeof *s;
    return convop_setting_at(index, s) == CONVOP_OK;
}

static void print_text(void)
{
    convop_info_item item;
    convop_setting_info s;
    for (size_t i = 0; item_at(i, &item); i++) {
        printf("%-20s %s", item.name, item.value);
        if (item.why[0]) printf(" (%s)", item.why);
        putchar('\n');
    }
    puts("\nSettings");
    for (size_t i = 0; setting_at(i, &s); i++) {
        printf("%-20s %-12s %s", s.name, s.value[0] ? s.value : "\"\"", origin_name(&s));
        if (s.origin != CONVOP_ORIGIN_CALL) printf(" (%s)", s.environment);
        if (s.status != CONVOP_OK) printf(": does not parse; allowed: %s", s.values);
        putchar('\n');
    }
}

static void print_json(void)
{
    convop_info_item item;
    convop_setting_info s;
    fputs("{\"items\": [", stdout);
    for (size_t i = 0; item_at(i, &item); i++) {
        fputs(i ? ", {" : "{", stdout);
        json_key("name", 1);
        json_string(item.name);
        text_member("value", item.value);
        text_member("why", item.why);
        putchar('}');
    }
    fputs("], \"settings\": [", stdout);
    for (size_t i = 0; setting_at(i, &s); i++) {
        fputs(i ? ", {" : "{", stdout);
        json_key("name", 1);
        json_string(s.name);
        text_member("environment", s.environment);
        text_member("value", s.value);
        text_member("values", s.values);
        text_member("origin", origin_name(&s));
        json_key("ok", 0);
        fputs(s.status == CONVOP_OK ? "true" : "false", stdout);
        text_member("doc", s.doc);
        putchar('}');
    }
    puts("]}");
}

int cli_info(int argc, char **argv)
{
    int json = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    if (json)
        print_json();
    else
        print_text();
    return cli_check_settings();
}
