/* A cmocka program that runs all of its tests, or the one that its argument names. Include after
 * cmocka.h. */
#ifndef TESTS_ONE_TEST_H
#define TESTS_ONE_TEST_H

#include <stdio.h>
#include <string.h>

static int one_test_skipped;

static inline void skip_test(const char *why)
{
    printf("skipped: %s\n", why);
    one_test_skipped = 1;
    skip();
}

/* The exit code: 77 if the one test was skipped, 2 if there is none of that name. */
static inline int run_one_or_all(const struct CMUnitTest *tests, size_t count, int argc,
                                 char **argv)
{
    if (argc < 2) return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tests[i].name, argv[1]) != 0) continue;
        int failed = _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
        return failed != 0 ? 1 : one_test_skipped ? 77 : 0;
    }
    fprintf(stderr, "no test is called %s\n", argv[1]);
    return 2;
}

#endif
