/* Fills of the cases: see README.md. */
#ifndef TESTS_CASES_FILLS_H
#define TESTS_CASES_FILLS_H

#include <jansson.h>
#include <stdint.h>

/* `count` values over the shape, in row-major order, not yet rounded; the caller frees them. */
double *fill_values(const json_t *fill, int ndim, const int64_t *shape, int64_t count);

#endif
