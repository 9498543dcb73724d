/* Settings: defaults, environment, calls, what does not parse, and many threads at once. main()
 * sets the environment before the first use, which is the only time it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convop/context.h"
#include "src/common/settings.h"

static char long_text[400];

static convop_setting_info info_of(enum cvp_setting setting)
{
    convop_setting_info info = {.struct_size = sizeof(info)};
    assert_int_equal(convop_setting_at((size_t)setting, &info), CONVOP_OK);
    return info;
}

static int int_of(enum cvp_setting setting)
{
    int value = -100;
    assert_int_equal(cvp_setting_int(setting, &value), CONVOP_OK);
    return value;
}

static void assert_text(enum cvp_setting setting, const char *want)
{
    char text[256];
    assert_int_equal(cvp_setting_text(setting, text, sizeof(text)), CONVOP_OK);
    assert_string_equal(text, want);
}

static void all_are_listed_in_order(void **state)
{
    (void)state;
    char last[64] = "";
    for (size_t i = 0; i < CVP_SETTING_COUNT; i++) {
        convop_setting_info info = {.struct_size = sizeof(info)};
        assert_int_equal(convop_setting_at(i, &info), CONVOP_OK);
        assert_true(strcmp(last, info.name) < 0);
        assert_int_equal(strncmp(info.environment, "CONVOP_", 7), 0);
        assert_int_equal(strcasecmp(info.environment + 7, info.name), 0);
        assert_true(info.doc[0] != '\0' && info.values[0] != '\0');
        assert_int_equal(info.struct_size, sizeof(info));
        strcpy(last, info.name);
    }
    convop_setting_info info = {.struct_size = sizeof(info)};
    assert_int_equal(convop_setting_at(CVP_SETTING_COUNT, &info), CONVOP_E_NOT_FOUND);
    assert_int_equal(convop_setting_at(0, NULL), CONVOP_E_INVALID);
    info.struct_size = 0;
    assert_int_equal(convop_setting_at(0, &info), CONVOP_E_INVALID);
}

static void info_of_a_smaller_struct_stays_inside(void **state)
{
    (void)state;
    convop_setting_info info = {.struct_size = offsetof(convop_setting_info, doc), .doc = "mine"};
    assert_int_equal(convop_setting_at(0, &info), CONVOP_OK);
    assert_string_equal(info.name, "autotune");
    assert_string_equal(info.doc, "mine");
}

static void unset_and_empty_are_the_default(void **state)
{
    (void)state;
    assert_int_equal(int_of(CVP_SETTING_DETERMINISTIC), 1);
    assert_int_equal(int_of(CVP_SETTING_ISA), CVP_ISA_AUTO);
    assert_int_equal(int_of(CVP_SETTING_ENGINE), 1); /* set, but empty */
    assert_text(CVP_SETTING_IMPL, "");
    convop_setting_info info = info_of(CVP_SETTING_ENGINE);
    assert_string_equal(info.value, "threaded");
    assert_int_equal(info.origin, CONVOP_ORIGIN_DEFAULT);
}

static void environment_counts_and_is_read_once(void **state)
{
    (void)state;
    assert_int_equal(int_of(CVP_SETTING_VERBOSE), 2);
    assert_int_equal(setenv("CONVOP_VERBOSE", "1", 1), 0);
    assert_int_equal(int_of(CVP_SETTING_VERBOSE), 2);
    convop_setting_info info = info_of(CVP_SETTING_VERBOSE);
    assert_string_equal(info.value, "2"); /* the variable is "02" */
    assert_int_equal(info.origin, CONVOP_ORIGIN_ENVIRONMENT);
    assert_int_equal(info.status, CONVOP_OK);
}

static void environment_that_does_not_parse_is_an_error(void **state)
{
    (void)state;
    int value = 77;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cvp_setting_int(CVP_SETTING_NUM_THREADS, &value), CONVOP_E_INVALID);
        assert_int_equal(value, 77);
        assert_non_null(strstr(convop_last_error(), "CONVOP_NUM_THREADS=abc"));
        assert_non_null(strstr(convop_last_error(), "0..4096"));
    }
    assert_int_equal(cvp_setting_int_or(CVP_SETTING_NUM_THREADS, 5), 5);
    convop_setting_info info = info_of(CVP_SETTING_NUM_THREADS);
    assert_string_equal(info.value, "abc");
    assert_int_equal(info.status, CONVOP_E_INVALID);
    char text[256];
    assert_int_equal(cvp_setting_text(CVP_SETTING_OPENBLAS_LIBRARY, text, sizeof(text)),
                     CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "255"));
    info = info_of(CVP_SETTING_OPENBLAS_LIBRARY);
    assert_int_equal(strlen(info.value), 255);
}

static void call_wins_until_taken_back(void **state)
{
    (void)state;
    assert_int_equal(convop_set("verbose", "0"), CONVOP_OK);
    assert_int_equal(int_of(CVP_SETTING_VERBOSE), 0);
    assert_int_equal(info_of(CVP_SETTING_VERBOSE).origin, CONVOP_ORIGIN_CALL);
    assert_int_equal(convop_set("verbose", NULL), CONVOP_OK);
    assert_int_equal(int_of(CVP_SETTING_VERBOSE), 2);
    assert_int_equal(convop_set("num_threads", "4096"), CONVOP_OK);
    assert_int_equal(int_of(CVP_SETTING_NUM_THREADS), 4096);
    assert_int_equal(convop_set("num_threads", NULL), CONVOP_OK);
    int value;
    assert_int_equal(cvp_setting_int(CVP_SETTING_NUM_THREADS, &value), CONVOP_E_INVALID);
    assert_int_equal(convop_set("impl", "direct"), CONVOP_OK);
    assert_text(CVP_SETTING_IMPL, "direct");
    assert_int_equal(convop_set("impl", ""), CONVOP_OK);
    assert_text(CVP_SETTING_IMPL, "");
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
}

static void call_with_a_bad_value_changes_nothing(void **state)
{
    (void)state;
    const char *const bad[][2] = {{"num_threads", "4097"}, {"num_threads", "-1"},
                                  {"num_threads", ""},     {"num_threads", "4x"},
                                  {"num_threads", " 4"},   {"num_threads", "+4"},
                                  {"num_threads", "1e3"},  {"num_threads", "99999999999999999999"},
                                  {"verbose", "4"},        {"deterministic", "true"},
                                  {"engine", "Naive"},     {"isa", "avx"},
                                  {"isa", "-1"},           {"impl", long_text}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(convop_set(bad[i][0], bad[i][1]), CONVOP_E_INVALID);
        assert_non_null(strstr(convop_last_error(), bad[i][0]));
    }
    assert_int_equal(int_of(CVP_SETTING_VERBOSE), 2);
    assert_text(CVP_SETTING_IMPL, "");
    assert_int_equal(convop_set(NULL, "1"), CONVOP_E_INVALID);
}

static void the_epoch_is_of_changes_alone(void **state)
{
    (void)state;
    convop_setting_info info = {.struct_size = sizeof(info)};
    uint64_t before = convop_epoch();
    assert_int_equal(convop_setting_at(0, &info), CONVOP_OK);
    assert_int_equal(convop_set("verbose", "loud"), CONVOP_E_INVALID);
    assert_true(convop_epoch() == before);
    assert_int_equal(convop_set("verbose", "0"), CONVOP_OK);
    assert_true(convop_epoch() > before);
    before = convop_epoch();
    assert_int_equal(convop_set("verbose", NULL), CONVOP_OK);
    assert_true(convop_epoch() > before);
}

static void choices_have_their_numbers(void **state)
{
    (void)state;
    const char *const isas[] = {"auto", "baseline", "avx2", "avx512", "amx", "neon"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(convop_set("isa", isas[i]), CONVOP_OK);
        assert_int_equal(int_of(CVP_SETTING_ISA), i - 1);
        assert_string_equal(info_of(CVP_SETTING_ISA).value, isas[i]);
    }
    assert_int_equal(convop_set("isa", NULL), CONVOP_OK);
    const char *const maths[] = {"strict", "default", "tf32"};
    assert_int_equal(int_of(CVP_SETTING_MATH), CONVOP_MATH_DEFAULT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(convop_set("math", maths[i]), CONVOP_OK);
        assert_int_equal(int_of(CVP_SETTING_MATH), CONVOP_MATH_STRICT + i);
        assert_string_equal(info_of(CVP_SETTING_MATH).value, maths[i]);
    }
    assert_int_equal(convop_set("math", "fast"), CONVOP_E_INVALID);
    assert_int_equal(convop_set("math", NULL), CONVOP_OK);
    assert_int_equal(convop_set("engine", "naive"), CONVOP_OK);
    assert_int_equal(int_of(CVP_SETTING_ENGINE), 0);
    assert_int_equal(convop_set("engine", NULL), CONVOP_OK);
}

/* By number or by the parameter's word; shown as the number. */
static void autotune_has_words(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"unset", "unset"}, {"0", "off"}, {"1", "limited_workspace"}, {"2", "fastest"}};
    for (int i = 0; i < 4; i++)
        for (int word = 0; word < 2; word++) {
            assert_int_equal(convop_set("autotune", texts[i][word]), CONVOP_OK);
            assert_int_equal(int_of(CVP_SETTING_AUTOTUNE), i - 1);
            assert_string_equal(info_of(CVP_SETTING_AUTOTUNE).value, texts[i][0]);
        }
    assert_int_equal(convop_set("autotune", "3"), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "want unset, 0 (off), 1 (limited_workspace), 2"));
    assert_int_equal(convop_set("autotune", "slowest"), CONVOP_E_INVALID);
    assert_int_equal(convop_set("autotune", NULL), CONVOP_OK);
}

static void unknown_name_names_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(convop_set("num_thread", "1"), CONVOP_E_NOT_FOUND);
    assert_non_null(strstr(convop_last_error(), "num_threads"));
    assert_int_equal(convop_set("zzzzzzzzzzzz", "1"), CONVOP_E_NOT_FOUND);
}

static void text_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    char text[5] = "old";
    assert_int_equal(convop_set("impl", "12345"), CONVOP_OK);
    assert_int_equal(cvp_setting_text(CVP_SETTING_IMPL, text, sizeof(text)), CONVOP_E_INTERNAL);
    assert_string_equal(text, "old");
    long_text[255] = '\0';
    assert_int_equal(convop_set("impl", long_text), CONVOP_OK);
    assert_text(CVP_SETTING_IMPL, long_text);
    long_text[255] = 'x';
    assert_int_equal(convop_set("impl", NULL), CONVOP_OK);
}

static _Atomic int stop;

static void *setter(void *arg)
{
    const char *const *values = arg;
    for (int i = 0; !atomic_load(&stop); i++) {
        convop_set("num_threads", values[i % 2]);
        convop_set("impl", i % 2 ? "aaaaaaaaaaaaaaaa" : "bbbbbbbbbbbbbbbb");
    }
    return NULL;
}

static void readers_see_whole_values(void **state)
{
    (void)state;
    static const char *const values[] = {"17", "4001"};
    pthread_t thread;
    convop_set("num_threads", "17");
    convop_set("impl", "aaaaaaaaaaaaaaaa");
    assert_int_equal(pthread_create(&thread, NULL, setter, (void *)(uintptr_t)values), 0);
    int torn = 0;
    for (int i = 0; i < 20000; i++) {
        int value = 0;
        char text[256] = "";
        torn += cvp_setting_int(CVP_SETTING_NUM_THREADS, &value) != CONVOP_OK;
        torn += value != 17 && value != 4001;
        cvp_setting_text(CVP_SETTING_IMPL, text, sizeof(text));
        torn += strcmp(text, "aaaaaaaaaaaaaaaa") != 0 && strcmp(text, "bbbbbbbbbbbbbbbb") != 0;
    }
    /* A child of a fork in the middle of that can still set and read. */
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20);
            int value;
            convop_set("num_threads", "5");
            _exit(cvp_setting_int(CVP_SETTING_NUM_THREADS, &value) != CONVOP_OK || value != 5);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        torn += status != 0;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(torn, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_listed_in_order),
        cmocka_unit_test(info_of_a_smaller_struct_stays_inside),
        cmocka_unit_test(unset_and_empty_are_the_default),
        cmocka_unit_test(environment_counts_and_is_read_once),
        cmocka_unit_test(environment_that_does_not_parse_is_an_error),
        cmocka_unit_test(call_wins_until_taken_back),
        cmocka_unit_test(call_with_a_bad_value_changes_nothing),
        cmocka_unit_test(the_epoch_is_of_changes_alone),
        cmocka_unit_test(choices_have_their_numbers),
        cmocka_unit_test(autotune_has_words),
        cmocka_unit_test(unknown_name_names_the_nearest),
        cmocka_unit_test(text_that_does_not_fit_is_refused),
        cmocka_unit_test(readers_see_whole_values),
    };
    memset(long_text, 'x', sizeof(long_text) - 1);
    const char *const unset[] = {"CONVOP_DETERMINISTIC", "CONVOP_IMPL", "CONVOP_ISA"};
    for (int i = 0; i < 3; i++) unsetenv(unset[i]);
    if (setenv("CONVOP_VERBOSE", "02", 1) != 0 || setenv("CONVOP_ENGINE", "", 1) != 0 ||
        setenv("CONVOP_NUM_THREADS", "abc", 1) != 0 ||
        setenv("CONVOP_OPENBLAS_LIBRARY", long_text, 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
