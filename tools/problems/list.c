/* The list of problems: what it owns, and how a descriptor becomes a problem in it. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/problems/internal.h"

void problems_init(struct problem_list *list)
{
    *list = (struct problem_list){.now = problems_defaults};
}

void problems_free(struct problem_list *list)
{
    for (size_t i = 0; i < list->num_texts; i++) free(list->texts[i]);
    free(list->texts);
    free(list->left_out);
    free(list->at);
    problems_init(list);
}

int problems_no_memory(struct problem_error *error)
{
    *error = (struct problem_error){.text = "out of memory", .failed = 1};
    return 0;
}

/* Room for one more element; 0: no memory. */
static int grow(void *array, size_t count, size_t size)
{
    void *old, *grown;
    if ((count & (count - 1)) != 0) return 1; /* room is a power of two */
    memcpy(&old, array, sizeof old);
    grown = reallocarray(old, count ? 2 * count : 1, size);
    if (grown) memcpy(array, &grown, sizeof grown);
    return grown != NULL;
}

const char *problems_keep(struct problem_list *list, const char *text)
{
    if (!grow(&list->texts, list->num_texts, sizeof *list->texts)) return NULL;
    char *copy = strdup(text);
    if (copy) list->texts[list->num_texts++] = copy;
    return copy;
}

int problems_leave_out(struct problem_list *list, const char *option, struct problem_error *error)
{
    for (size_t i = 0; i < list->num_left_out; i++)
        if (strcmp(list->left_out[i].option, option) == 0) return list->left_out[i].count++, 1;
    const char *kept = problems_keep(list, option);
    if (!kept || !grow(&list->left_out, list->num_left_out, sizeof *list->left_out))
        return problems_no_memory(error);
    list->left_out[list->num_left_out++] = (struct left_out){kept, 1};
    return 1;
}

static int append(struct problem_list *list, const struct problem *problem,
                  struct problem_error *error)
{
    if (!grow(&list->at, list->count, sizeof *list->at)) return problems_no_memory(error);
    list->at[list->count++] = *problem;
    return 1;
}

/* problems_option has seen that it compiles. */
static int matches(const char *expression, const char *text)
{
    regex_t compiled;
    if (!expression) return 1;
    if (regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB) != 0) return 0;
    int found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static int parse(struct problem *problem, struct problem_error *error)
{
    struct descriptor_error wrong;
    if (descriptor_parse(problem->text, &problem->descriptor, &wrong)) return 1;
    *error = (struct problem_error){.at = wrong.at};
    snprintf(error->text, sizeof error->text, "%s", wrong.text);
    snprintf(error->source, sizeof error->source, "%s", problem->text);
    return 0;
}

int problems_rewrite(struct problem_list *list, struct problem *problem,
                     struct problem_error *error)
{
    char text[1024];
    descriptor_format(&problem->descriptor, text, sizeof text);
    problem->text = problems_keep(list, text);
    return problem->text ? parse(problem, error) : problems_no_memory(error);
}

int problems_add(struct problem_list *list, const char *text, struct problem_error *error)
{
    struct problem problem = {.text = problems_keep(list, text), .swept = ""};
    if (!problem.text) return problems_no_memory(error);
    if (!parse(&problem, error)) return 0;
    list->since = 0;
    problem.settings = list->now;
    return append(list, &problem, error);
}

/* Of stag and dtag, those in which src and dst agree; none: count is 0. Any with any leaves it to
 * convop's own option. */
static struct choices agreed_tags(const struct settings *s)
{
    struct choices tags = {0};
    const struct choices any = {1, {ANY_TAG}}, *src = s->src_tags.count ? &s->src_tags : &any,
                         *dst = s->dst_tags.count ? &s->dst_tags : &any;
    for (int i = 0; i < src->count; i++)
        for (int j = 0; j < dst->count; j++) {
            int a = src->at[i], b = dst->at[j], tag = a == ANY_TAG ? b : a;
            if (tag == UNKNOWN_TAG || (b != tag && b != ANY_TAG)) continue;
            problems_choose(&tags, tag == ANY_TAG ? s->tags.at[0] : tag);
        }
    return tags;
}

/* One problem for each mb that is asked for, in the order of the list. */
static int expand(struct problem_list *list, struct problem_list *to, const struct problem *from,
                  struct problem_error *error)
{
    for (int i = 0; i < from->settings.mbs.count; i++) {
        struct problem problem = *from;
        problem.descriptor.mb = from->settings.mbs.at[i];
        if (problem.descriptor.mb == 0)
            problem = *from;
        else if (!problems_rewrite(list, &problem, error))
            return 0;
        if (!append(to, &problem, error)) return 0;
    }
    return from->settings.mbs.count > 0 || append(to, from, error);
}

int problems_finish(struct problem_list *list, struct problem_error *error)
{
    struct problem_list done = {.at = NULL};
    int fits = 1;
    for (size_t i = 0; i < list->count && fits; i++) {
        struct problem *problem = &list->at[i];
        problems_copy_options(list->since, &list->now, &problem->settings);
        struct settings *s = &problem->settings;
        if (!matches(s->match, problem->text)) {
            list->not_matched++;
            continue;
        }
        if (s->src_tags.count || s->dst_tags.count) s->tags = agreed_tags(s);
        if (!s->tags.count) s->lacks = "no layout that convop has was asked for";
        if (!s->types.count) s->lacks = "no element type that convop has was asked for";
        fits = expand(list, &done, problem, error);
    }
    free(list->at);
    list->at = done.at;
    list->count = done.count;
    list->since = 0;
    return fits;
}
