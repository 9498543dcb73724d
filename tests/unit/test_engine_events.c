/* Lines about what engines do, at verbose level 3 and at no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/context.h"
#include "convop/engine.h"
#include "convop/settings.h"
#include "tests/support/expect.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[4096]; /* all lines, each with a newline */

static void note(void *user, const char *line)
{
    (void)user;
    pthread_mutex_lock(&lock);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static convop_status works(void *user)
{
    (void)user;
    return CONVOP_OK;
}

static convop_status fails(void *user)
{
    (void)user;
    return CONVOP_E_IO;
}

/* Where a line is among the lines; those of times are cut off before the time. */
static const char *at(const char *line)
{
    const char *found = strstr(text, line);
    if (!found) fail_msg("no line %s in\n%s", line, text);
    return found;
}

static void run_tasks(convop_engine_kind kind)
{
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    convop_engine *engine = NULL;
    convop_var var = 0;
    options.kind = kind;
    options.num_workers = 2;
    text[0] = '\0';
    expect_ok(convop_engine_create(&options, &engine));
    expect_ok(convop_var_create(engine, &var));
    convop_task task = CONVOP_TASK_INIT;
    task.writes = &var;
    task.num_writes = 1;
    task.name = "good";
    task.run = works;
    expect_ok(convop_engine_push(engine, &task));
    expect_ok(convop_engine_wait(engine, var));
    task.name = "bad";
    task.run = fails;
    expect_ok(convop_engine_push(engine, &task));
    assert_int_equal(convop_engine_wait_all(engine), CONVOP_E_IO);
    convop_engine_destroy(&engine);
}

static void events_are_told(void **state)
{
    (void)state;
    static const char *const kinds[] = {"naive", "threaded"};
    expect_ok(convop_set("verbose", "3"));
    for (int i = 0; i < 2; i++) {
        run_tasks(i ? CONVOP_ENGINE_THREADED : CONVOP_ENGINE_NAIVE);
        char line[5][80];
        static const char *const events[] = {"push,good\n", "start,good\n", "end,good,ok,",
                                             "end,bad,input/output error,", "wait,all\n"};
        for (int k = 0; k < 5; k++)
            snprintf(line[k], sizeof line[k], "convop,v1,engine,%s,%s", kinds[i], events[k]);
        assert_true(at(line[0]) < at(line[1]) && at(line[1]) < at(line[2]));
        at(line[3]);
        at(line[4]);
    }
    expect_ok(convop_set("verbose", "2"));
    run_tasks(CONVOP_ENGINE_THREADED);
    assert_string_equal(text, "");
}

int main(void)
{
    convop_set_log_sink(note, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
