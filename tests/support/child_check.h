/* Cases that open a library, which happens once a process: each runs in a child of its own. For
 * programs that include cmocka.h before. */
#ifndef CVP_TESTS_CHILD_CHECK_H
#define CVP_TESTS_CHILD_CHECK_H

#include <stdio.h>

#include "tests/support/child.h"

/* Exit codes of children. */
enum { RIGHT = 0, WRONG = 1, ABSENT = 77 };

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            return WRONG;                                                                          \
        }                                                                                          \
    } while (0)

static inline void run_child(int (*body)(void *arg), void *arg)
{
    fflush(stdout);
    const int code = test_reap(test_fork(body, arg));
    if (code == ABSENT) skip();
    assert_int_equal(code, RIGHT);
}

#endif
