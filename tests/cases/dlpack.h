/* What a case's "dl" describes, as a producer's struct, imported. */
#ifndef TESTS_CASES_DLPACK_H
#define TESTS_CASES_DLPACK_H

#include "tests/cases/run.h"
#include "tests/support/producer.h"

/* The strides that the case gives; 0 where it gives none. */
extern int64_t dlpack_strides[16];

/* The 64 numbers that a producer's tensors lie over: producer.h has them once in each file. */
extern float *const dlpack_samples;

/* An import of it as the case has it, of the old struct or of the new one; one that fails must not
 * have called the deleter, and is then deleted here. */
convop_status dlpack_import(const struct test_case *c, struct producer_log *log,
                            convop_array **array);

/* One that must succeed. */
convop_array *dlpack_imported(const struct test_case *c, struct producer_log *log);

/* Drops the last reference: the deleter is called then, and once. */
void dlpack_released(convop_array *array, struct producer_log *log);

/* Uses and lifetimes, in run_lifetime.c. */
case_run run_lifetime_for(const struct test_case *c);

#endif
