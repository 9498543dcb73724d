/* The walk over the cases, how one is named, and where the results are kept. */
#include "tools/tune/cases.h"

#include <stdio.h>

#include "convop/tune.h"
#include "tools/cli.h"
#include "tools/json.h"

static size_t cases_of(const struct problem *p)
{
    const struct settings *s = &p->settings;
    if (s->lacks) return 1;
    return (size_t)s->directions.count * (size_t)s->types.count * (size_t)s->tags.count;
}

size_t tune_count_cases(const struct problem_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++) n += cases_of(&list->at[i]);
    return n;
}

static void set_case(struct tune_case *c, const struct settings *s, size_t index)
{
    size_t tags = (size_t)s->tags.count, types = (size_t)s->types.count;
    c->tag = (enum tag)s->tags.at[index % tags];
    c->type = (enum type)s->types.at[index / tags % types];
    c->direction = (enum direction)s->directions.at[index / tags / types];
    query_make(&c->problem->descriptor, &s->post_ops, c->direction, c->type, c->tag, &c->query);
}

static int visit_problem(const struct problem *p, int (*visit)(struct tune_case *c, void *user),
                         void *user)
{
    convop_context *context = NULL;
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    const convop_exec exec = CONVOP_EXEC_INIT;
    struct tune_case c = {.problem = p, .exec = exec};
    options.num_threads = p->settings.threads;
    if (options.num_threads && convop_context_create(&options, &context) != CONVOP_OK)
        return cli_fail("%s", convop_last_error());
    c.exec.context = context;
    int status = CLI_OK;
    for (size_t i = 0; i < cases_of(p) && status == CLI_OK; i++) {
        if (!p->settings.lacks) set_case(&c, &p->settings, i);
        status = visit(&c, user);
    }
    convop_context_destroy(&context);
    return status;
}

int tune_each_case(const struct problem_list *list, int (*visit)(struct tune_case *c, void *user),
                   void *user)
{
    int status = CLI_OK;
    for (size_t i = 0; i < list->count && status == CLI_OK; i++)
        status = visit_problem(&list->at[i], visit, user);
    return status;
}

static void plain_label(const struct problem *p, char *text, size_t size)
{
    const struct descriptor *d = &p->descriptor;
    if (d->name_length)
        snprintf(text, size, "%.*s", d->name_length, d->name);
    else
        snprintf(text, size, "%s", p->text);
}

void tune_label(const struct tune_case *c, char *text, size_t size)
{
    plain_label(c->problem, text, size);
    for (char *s = text; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?';
}

void tune_json_text(const char *key, const char *text)
{
    json_key(key, 0);
    json_string(text);
}

void tune_json_time(const char *key, double ms)
{
    json_key(key, 0);
    if (ms > 0)
        printf("%.6g", ms);
    else
        fputs("null", stdout);
}

void tune_json_begin(const struct tune_case *c)
{
    const int is_whole = !c->problem->settings.lacks;
    char text[1024];
    plain_label(c->problem, text, sizeof text);
    putchar('{');
    json_key("name", 1);
    json_string(text);
    descriptor_format(&c->problem->descriptor, text, sizeof text);
    tune_json_text("problem", text);
    tune_json_text("dir", is_whole ? direction_name(c->direction) : NULL);
    tune_json_text("dt", is_whole ? type_name(c->type) : NULL);
    tune_json_text("tag", is_whole ? tag_name(c->tag) : NULL);
}

const convop_conv_row *tune_chosen(const convop_conv_row *rows, size_t *count)
{
    if (*count > TUNE_MAX_ROWS) *count = TUNE_MAX_ROWS;
    for (size_t i = 0; i < *count; i++)
        if (rows[i].chosen) return &rows[i];
    return NULL;
}

int tune_find_file(char *path, size_t size)
{
    char why[512];
    convop_tune_path(path, size, why, sizeof why);
    if (!why[0]) return CLI_OK;
    return cli_fail("nothing could be kept, the tuning cache %s%scannot be written: %s", path,
                    path[0] ? " " : "", why);
}
