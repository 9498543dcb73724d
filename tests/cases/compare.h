/* Comparisons. All of them end the case with a message when they fail (cmocka's fail_msg). */
#ifndef TESTS_CASES_COMPARE_H
#define TESTS_CASES_COMPARE_H

#include "tests/cases/conv.h"

/* The oracle's values of the outputs that are asked for against the case's own figures. */
void compare_figures(const struct conv *v);

/* Every element of what was asked for; nothing else may have been written. `row` is for the
 * message and says by its name whether it works in a transform domain (NULL: as chosen). */
void compare_outputs(const struct conv *v, const char *row);

/* Inputs, outputs and what lies between are as conv_reset left them. */
void compare_nothing_written(const struct conv *v, const char *what);

/* The text holds one of the case's words, whatever their case. */
void compare_mention(const struct test_case *c, const char *text);

/* Rows that work in a transform domain round otherwise, and spread a NaN over their tile. */
int row_transforms(const char *row);

#endif
