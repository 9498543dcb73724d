/* The list of cases, read from cases.json. */
#ifndef TESTS_CASES_JSON_H
#define TESTS_CASES_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct test_case {
    const char *id, *kind, *op, *expect;
    json_t *json, *params; /* borrowed from the list, or owned by derived_case() */
    int exact;
    double rtol, atol;
};

struct case_list {
    json_t *json;
    size_t count;
    struct test_case *cases;
};

/* Ends the program with a message if the file is not what it should be. */
struct case_list case_list_load(const char *path);
void case_list_free(struct case_list *list);

/* A case as its JSON says it. */
struct test_case case_of(json_t *json);

/* The input with that name, NULL if the case has none. */
json_t *case_input(const struct test_case *c, const char *name);

/* Integers of an array; returns how many, -1 if it is none. */
int json_ints(const json_t *array, int64_t *out, int max);
json_t *json_from_ints(const int64_t *values, int count);

/* "nan", "inf", "-inf", or a number. */
double json_number(const json_t *value);

#endif
