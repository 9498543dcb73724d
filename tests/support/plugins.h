/* The plug-ins of tests/plugins, for the tests of loading: where they are, what they do, and what
 * must be there once they are gone. */
#ifndef CVP_TEST_PLUGINS_H
#define CVP_TEST_PLUGINS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/convop.h"
#include "tests/support/copying_conv.h"
#include "tests/support/expect.h"

#define PATH(name) TEST_PLUGINS "/plugin_" name ".so"

static int exits; /* counted by the plug-ins' exit() */

/* Names of the operators, then of the rows, then of the plug-ins. */
static inline void describe(char *text, size_t size)
{
    struct problem x;
    convop_op_listing *listing;
    convop_conv_row rows[32];
    convop_plugin_info plugins[8];
    size_t n = 32, used = 0;
    make_problem(&x);
    expect_ok(convop_op_list(&listing));
    for (size_t i = 0; i < convop_op_listing_count(listing); i++) {
        const convop_op *op = convop_op_listing_at(listing, i);
        used += (size_t)snprintf(text + used, size - used, "%s(%d) ", op->name, op->level);
    }
    convop_op_listing_destroy(&listing);
    expect_ok(convop_conv_explain(&x.params, CONVOP_FWD, &x.s, &x.w, &x.d, NULL, rows, &n));
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s ", rows[i].name);
    n = 8;
    expect_ok(convop_plugin_list(plugins, &n));
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "[%s] ", plugins[i].name);
}

static char nothing_loaded[1024];

static inline void expect_nothing_loaded(void)
{
    char text[1024];
    describe(text, sizeof text);
    assert_string_equal(text, nothing_loaded);
}

static inline convop_status invoke_plus(const char *value, float from, float *to)
{
    int64_t one = 1;
    DLTensor src = view(&from, &one, 1), dst = view(to, &one, 1);
    const char *key = "value";
    const DLTensor *in[] = {&src};
    DLTensor *out[] = {&dst};
    return convop_invoke("Plus", 1, &key, &value, 1, in, 1, out, NULL, NULL);
}

/* At the begin of main(): tells the plug-ins where to count, and keeps what is there without any.
 */
static inline void watch_plugins(void)
{
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)&exits);
    setenv("CONVOP_TEST_EXITS", address, 1);
    describe(nothing_loaded, sizeof nothing_loaded);
}

#endif
