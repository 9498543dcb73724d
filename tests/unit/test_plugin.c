/* Plug-ins: what loads and what does not, and what they bring. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "tests/support/plugins.h"

static void loads_and_unloads(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    for (int round = 0; round < 3; round++) {
        convop_plugin_handle *plugin = NULL;
        expect_ok(convop_plugin_load(PATH("good"), &plugin));
        assert_non_null(plugin);
        float y = 0;
        expect_ok(invoke_plus("2.5", 1, &y));
        assert_true(y == 3.5f);
        expect_ok(forward(&x));
        assert_true(x.dst[3] == 42);
        const convop_op *op;
        const void *cost;
        expect_ok(convop_op_find("Convolution", &op));
        expect_ok(convop_op_attr(op, "cost", "int", &cost));
        assert_int_equal(*(const int *)cost, 7);

        convop_plugin_info info;
        size_t n = 1;
        expect_ok(convop_plugin_list(&info, &n));
        assert_int_equal(n, 1);
        assert_string_equal(info.name, "good");
        assert_string_equal(info.version, "1.2");
        assert_string_equal(info.path, PATH("good"));
        assert_int_equal(info.unloaded, 0);
        assert_int_equal(info.num_ops * 100 + info.num_conv_impls * 10 + info.num_attrs, 111);

        exits = 0;
        convop_plugin_unload(&plugin);
        assert_null(plugin);
        assert_int_equal(exits, 1);
        assert_int_equal(invoke_plus("1", 1, &y), CONVOP_E_NOT_FOUND);
        assert_int_equal(convop_op_attr(op, "cost", "int", &cost), CONVOP_E_NOT_FOUND);
        expect_ok(forward(&x));
        assert_true(x.dst[3] == 3);
        convop_op_release(&op);
        expect_nothing_loaded();
    }
    convop_plugin_unload(NULL);
    convop_plugin_handle *none = NULL;
    convop_plugin_unload(&none);
}

#define refused(status, text, path)                                                                \
    do {                                                                                           \
        convop_plugin_handle *plugin_ = (convop_plugin_handle *)&exits;                            \
        assert_int_equal(convop_plugin_load(path, &plugin_), status);                              \
        assert_null(plugin_);                                                                      \
        if (!strstr(convop_last_error(), text)) fail_msg("%s", convop_last_error());               \
        expect_nothing_loaded();                                                                   \
    } while (0)

static void what_is_no_plugin_is_refused(void **state)
{
    (void)state;
    refused(CONVOP_E_INVALID, "path is NULL", NULL);
    refused(CONVOP_E_INVALID, "path \"plugin_good.so\" has no slash", "plugin_good.so");
    refused(CONVOP_E_INVALID, "no slash", "");
    refused(CONVOP_E_NOT_FOUND, "/nowhere/x.so: No such file", "/nowhere/x.so");
    refused(CONVOP_E_INVALID, TEST_PLUGINS "/ is a folder", TEST_PLUGINS "/");
    refused(CONVOP_E_INVALID, "/dev/null is no regular file", "/dev/null");
    refused(CONVOP_E_INVALID, "does not export convop_plugin_entry", PATH("no_entry"));
    refused(CONVOP_E_INVALID, "plugin_half.so: its init is NULL", PATH("half"));
    char path[] = "/tmp/convop_text_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "plain text\n", 11) == 11);
    close(file);
    refused(CONVOP_E_INVALID, "cannot be opened", path);
    unlink(path);
    assert_int_equal(convop_plugin_load(PATH("good"), NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_plugin_list(NULL, NULL), CONVOP_E_INVALID);
    size_t one = 1;
    assert_int_equal(convop_plugin_list(NULL, &one), CONVOP_E_INVALID);
}

static void abi_ranges_must_meet(void **state)
{
    (void)state;
    exits = 0;
    refused(CONVOP_E_UNSUPPORTED, "plugin_bad_abi.so speaks plug-in ABI 7..9, this convop",
            PATH("bad_abi"));
    assert_non_null(strstr(convop_last_error(), "speaks 1..1"));
    assert_int_equal(exits, 0);
}

static void failed_init_leaves_nothing(void **state)
{
    (void)state;
    exits = 0;
    refused(CONVOP_E_DEVICE, "plugin_fails.so: init: the machine is too slow", PATH("fails"));
    assert_int_equal(exits, 1);
}

static void same_file_twice_is_refused(void **state)
{
    (void)state;
    convop_plugin_handle *first, *second;
    expect_ok(convop_plugin_load(PATH("good"), &first));
    assert_int_equal(convop_plugin_load(TEST_PLUGINS "/./plugin_good.so", &second), CONVOP_E_STATE);
    assert_null(second);
    assert_non_null(strstr(convop_last_error(), "is loaded"));
    /* Another file that brings the same. */
    char text[1024], copy[] = "/tmp/convop_copy_XXXXXX", command[1024];
    assert_true(mkstemp(copy) >= 0);
    snprintf(command, sizeof command, "cp %s %s", PATH("good"), copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(convop_plugin_load(copy, &second), CONVOP_E_STATE);
    assert_non_null(strstr(convop_last_error(), "Plus: an operator of this name"));
    unlink(copy);
    describe(text, sizeof text);
    float y;
    expect_ok(invoke_plus("1", 1, &y)); /* the first is whole */
    convop_plugin_unload(&first);
    expect_nothing_loaded();
}

static void rows_that_lie_do_no_harm(void **state)
{
    (void)state;
    struct problem x;
    make_problem(&x);
    convop_plugin_handle *plugin;
    expect_ok(convop_plugin_load(PATH("liar"), &plugin));
    assert_int_equal(forward(&x), CONVOP_E_INTERNAL);
    assert_non_null(strstr(convop_last_error(), "implementation liar wants"));
    expect_ok(convop_set("impl", "moody"));
    expect_text(CONVOP_E_DEVICE, "moody: not today", forward(&x));
    expect_ok(convop_set("impl", NULL));
    convop_plugin_unload(&plugin);
    expect_ok(forward(&x));
    expect_nothing_loaded();
}

static char logged[256];

static void keep_line(void *user, const char *line)
{
    (void)user;
    if (strstr(line, "plugin,")) snprintf(logged, sizeof logged, "%s", line);
}

static void lines_are_written_if_asked_for(void **state)
{
    (void)state;
    convop_set_log_sink(keep_line, NULL);
    for (int verbose = 0; verbose < 2; verbose++) {
        convop_plugin_handle *plugin;
        expect_ok(convop_set("verbose", verbose ? "1" : "0"));
        expect_ok(convop_plugin_load(PATH("good"), &plugin));
        convop_plugin_unload(&plugin);
        assert_string_equal(logged, verbose ? "convop,v1,plugin,good,speaks ABI 1" : "");
    }
    expect_ok(convop_set("verbose", NULL));
    convop_set_log_sink(NULL, NULL);
}

int main(void)
{
    watch_plugins();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_unloads),
        cmocka_unit_test(what_is_no_plugin_is_refused),
        cmocka_unit_test(abi_ranges_must_meet),
        cmocka_unit_test(failed_init_leaves_nothing),
        cmocka_unit_test(same_file_twice_is_refused),
        cmocka_unit_test(rows_that_lie_do_no_harm),
        cmocka_unit_test(lines_are_written_if_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
