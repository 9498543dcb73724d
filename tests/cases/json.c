/* Reading the list of cases. A file that is not as README.md says ends the run: it is part of the
 * tests. */
#include "tests/cases/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    if (text == NULL) {
        fprintf(stderr, "a case without %s\n", key);
        exit(2);
    }
    return text;
}

struct test_case case_of(json_t *json)
{
    struct test_case c = {.id = text_of(json, "id"),
                          .kind = text_of(json, "kind"),
                          .op = text_of(json, "op"),
                          .expect = text_of(json, "expect"),
                          .json = json,
                          .params = json_object_get(json, "params")};
    /* Properties are of small integers unless the case says otherwise. */
    const json_t *exact = json_object_get(json, "exact"), *tol = json_object_get(json, "tol");
    c.exact = exact != NULL ? json_is_true(exact) : tol == NULL;
    c.rtol = json_number_value(json_object_get(tol, "rtol"));
    c.atol = json_number_value(json_object_get(tol, "atol"));
    return c;
}

struct case_list case_list_load(const char *path)
{
    json_error_t error;
    struct case_list list = {.json = json_load_file(path, JSON_REJECT_DUPLICATES, &error)};
    if (!json_is_array(list.json)) {
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
        exit(2);
    }
    list.count = json_array_size(list.json);
    list.cases = calloc(list.count, sizeof *list.cases);
    if (list.cases == NULL) exit(2);
    for (size_t i = 0; i < list.count; i++) list.cases[i] = case_of(json_array_get(list.json, i));
    return list;
}

void case_list_free(struct case_list *list)
{
    json_decref(list->json);
    free(list->cases);
}

json_t *case_input(const struct test_case *c, const char *name)
{
    size_t i;
    json_t *input;
    json_array_foreach(json_object_get(c->json, "inputs"), i, input)
    {
        if (strcmp(json_string_value(json_object_get(input, "name")), name) == 0) return input;
    }
    return NULL;
}

int json_ints(const json_t *array, int64_t *out, int max)
{
    if (!json_is_array(array) || json_array_size(array) > (size_t)max) return -1;
    int n = (int)json_array_size(array);
    for (int i = 0; i < n; i++)
        out[i] = (int64_t)json_integer_value(json_array_get(array, (size_t)i));
    return n;
}

json_t *json_from_ints(const int64_t *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(array, json_integer(values[i]));
    return array;
}

double json_number(const json_t *value)
{
    if (json_is_number(value)) return json_number_value(value);
    const char *text = json_string_value(value);
    if (text != NULL && strcmp(text, "inf") == 0) return INFINITY;
    if (text != NULL && strcmp(text, "-inf") == 0) return -INFINITY;
    return NAN;
}
