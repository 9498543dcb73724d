/* A node of a test's graph, its parameters as one text: "num_filter=8 kernel=(3,3)". */
#ifndef CVP_TESTS_GRAPH_APPLY_H
#define CVP_TESTS_GRAPH_APPLY_H

#include <stdio.h>
#include <string.h>

#include "src/graph/symbol.h"
#include "tests/support/expect.h"

/* name NULL: the graph gives one. b CVP_NO_ENTRY: there is one input. */
static inline struct cvp_entry apply(struct cvp_symbol *s, const char *op, const char *name,
                                     struct cvp_entry a, struct cvp_entry b, const char *params)
{
    char text[300], *keys[12], *values[12];
    struct cvp_entry inputs[] = {a, b}, out = CVP_NO_ENTRY;
    size_t n = 0;
    snprintf(text, sizeof text, "%s", params);
    for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
        keys[n] = at;
        values[n] = strchr(at, '=') + 1;
        values[n++][-1] = 0;
    }
    expect_ok(cvp_symbol_apply(s, op, name, n, (const char *const *)keys,
                               (const char *const *)values, b.node < 0 ? 1 : 2, inputs, &out));
    return out;
}

#endif
