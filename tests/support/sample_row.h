/* Rows for the tests of rows: they take everything and fill the output with 42. */
#ifndef CVP_TEST_SAMPLE_ROW_H
#define CVP_TEST_SAMPLE_ROW_H

#include <stdatomic.h>
#include <string.h>

#include "convop/conv_impl.h"
#include "tests/support/copying_conv.h"
#include "tests/support/expect.h"

static inline int takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    (void)p, (void)why;
    return 1;
}

static inline convop_status fill(const convop_conv_problem *p, const convop_conv_operands *t,
                                 const convop_context *context, void *workspace)
{
    (void)context, (void)workspace;
    for (int64_t i = 0; i < p->mb * p->oc * p->oh * p->ow; i++) ((float *)t->out)[i] = 42;
    return CONVOP_OK;
}

static inline convop_conv_impl row_of(const char *name, int level)
{
    return (convop_conv_impl){.struct_size = sizeof(convop_conv_impl),
                              .name = name,
                              .direction = CONVOP_FWD,
                              .version = 1,
                              .level = level,
                              .applicable = takes,
                              .run = fill};
}

/* The names of a direction's rows, in their order, as "a b c". */
static inline const char *order(convop_conv_direction direction)
{
    static char text[512];
    struct problem x;
    convop_conv_row rows[32];
    size_t n = 32;
    make_problem(&x);
    expect_ok(convop_conv_explain(&x.params, direction, &x.s, &x.w, &x.d, NULL, rows, &n));
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (i > 0) strcat(text, " ");
        strcat(text, rows[i].name);
    }
    return text;
}

static inline void count(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static char *builtin_order __attribute__((unused)); /* without any row of ours; ends with
                                                       " reference" */

#endif
