/* What runs the cases: a function for each op, and for properties a function for each id. A case
 * that does not hold ends with cmocka's fail_msg; one that cannot run here calls skip_case(). */
#ifndef TESTS_CASES_RUN_H
#define TESTS_CASES_RUN_H

#include "tests/cases/conv.h"

typedef void (*case_run)(const struct test_case *c);

struct named_run {
    const char *id;
    case_run run;
};

/* Says why, and skips. */
void skip_case(const char *why);

/* NULL if this file has nothing for that case. */
case_run run_conv_for(const struct test_case *c);     /* compute, expect=naive and error */
case_run run_shape_for(const struct test_case *c);    /* inference */
case_run run_property_for(const struct test_case *c); /* properties of results */
case_run run_memory_for(const struct test_case *c);   /* workspace, alignment, requests */
case_run run_dlpack_for(const struct test_case *c);
case_run run_engine_for(const struct test_case *c);
case_run run_engine_exit_for(const struct test_case *c);
case_run run_process_for(const struct test_case *c);

/* The problem in every way there is: as chosen, by name, by an instance, with 1 and 3 threads, and
 * each row by its name; every element compared. */
void run_all_ways(struct conv *v);
/* conv_open at both placements, run_all_ways, conv_close. */
void run_naive(const struct test_case *c);
/* One call, which must succeed, and its comparison. */
void run_once(struct conv *v, const char *row, const convop_exec *exec);
/* 1 if a good little convolution still computes. */
int library_is_usable(void);

/* Set once at the start: results must be those of exact arithmetic, no transform domain. 0 where
 * the library has no such setting, because it has nothing else. */
int math_strict(int on);

#endif
