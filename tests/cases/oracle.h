/* What a convolution must give: plain loops over float64, written from the formula alone. */
#ifndef TESTS_CASES_ORACLE_H
#define TESTS_CASES_ORACLE_H

#include "tests/cases/conv.h"

/* Fills v->want, rounded to the dtype, and v->magnitude, the sums of absolute values. What is there
 * before an "add" counts in. Gradients only for a backward case. */
void oracle_compute(struct conv *v);

#endif
