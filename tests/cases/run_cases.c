/* Runs the cases of cases.json, each by the code that knows its op or its id.
 *
 *     run_cases                 all
 *     run_cases ID...           these
 *     run_cases --computing     those that compute a convolution and are compared with plain loops
 *
 * A case that nothing here knows is a failure. Exits with 77 where the instruction set that
 * CONVOP_ISA asks for is not here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/cpu.h"
#include "tests/cases/run.h"

enum outcome { FAILED, PASSED, SKIPPED };

struct entry {
    const struct test_case *c;
    enum outcome outcome;
};

static struct entry *current;

void skip_case(const char *why)
{
    printf("skipped: %s: %s\n", current->c->id, why);
    current->outcome = SKIPPED;
    skip();
}

static case_run find(const struct test_case *c)
{
    static case_run (*const finders[])(const struct test_case *) = {
        run_memory_for, run_property_for,    run_shape_for,   run_dlpack_for,
        run_engine_for, run_engine_exit_for, run_process_for, run_conv_for,
    };
    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        case_run run = finders[i](c);
        if (run != NULL) return run;
    }
    return NULL;
}

static void run_entry(void **state)
{
    current = *state;
    case_run run = find(current->c);
    if (run == NULL) fail_msg("nothing here runs op %s, id %s", current->c->op, current->c->id);
    run(current->c);
    current->outcome = PASSED;
}

/* How many of each kind, and the command that repeats each failure. */
static void report(const struct entry *entries, size_t count, const char *program)
{
    printf("\n%-32s passed failed skipped\n", "kind");
    for (size_t i = 0; i < count; i++) {
        const char *kind = entries[i].c->kind;
        size_t number[3] = {0, 0, 0}, first = 0;
        while (strcmp(entries[first].c->kind, kind) != 0) first++;
        if (first < i) continue;
        for (size_t k = i; k < count; k++)
            if (strcmp(entries[k].c->kind, kind) == 0) number[entries[k].outcome]++;
        printf("%-32s %6zu %6zu %7zu\n", kind, number[PASSED], number[FAILED], number[SKIPPED]);
    }
    size_t passed = 0, skipped = 0;
    for (size_t i = 0; i < count; i++) {
        passed += entries[i].outcome == PASSED;
        skipped += entries[i].outcome == SKIPPED;
    }
    printf("%zu cases: %zu passed, %zu failed, %zu skipped\n", count, passed,
           count - passed - skipped, skipped);
    const char *isa = getenv("CONVOP_ISA");
    for (size_t i = 0; i < count; i++)
        if (entries[i].outcome == FAILED)
            printf("repeat with: %s%s%s%s %s\n", isa ? "CONVOP_ISA=" : "", isa ? isa : "",
                   isa ? " " : "", program, entries[i].c->id);
}

static int wanted(const struct test_case *c, int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--computing") == 0)
        return strcmp(c->expect, "naive") == 0 && strncmp(c->op, "conv_", 5) == 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], c->id) == 0) return 1;
    return argc < 2;
}

/* The environment may name the file; else it lies beside the sources. */
static const char *path_of_cases(void)
{
    const char *path = getenv("TEST_CASES");
    return path != NULL ? path : TEST_CASES_FILE;
}

int main(int argc, char **argv)
{
    enum cvp_isa isa;
    if (cvp_isa_in_use(&isa) != CONVOP_OK) {
        printf("skipped: %s\n", convop_last_error());
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* nothing may wait in a buffer when a case forks */
    math_strict(1);
    struct case_list list = case_list_load(path_of_cases());
    struct entry *entries = calloc(list.count + 1, sizeof *entries);
    struct CMUnitTest *tests = calloc(list.count + 1, sizeof *tests);
    if (entries == NULL || tests == NULL) return 2;
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++) {
        if (!wanted(&list.cases[i], argc, argv)) continue;
        entries[count].c = &list.cases[i];
        tests[count] =
            (struct CMUnitTest){list.cases[i].id, run_entry, NULL, NULL, &entries[count]};
        count++;
    }
    if (count == 0) {
        fprintf(stderr, "no such case\n");
        return 2;
    }
    int failed = _cmocka_run_group_tests("cases", tests, count, NULL, NULL);
    report(entries, count, argv[0]);
    free(tests);
    free(entries);
    case_list_free(&list);
    return failed != 0;
}
