/* Lines: their form, who gets them, and that a sink runs with no lock held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convop/settings.h"
#include "src/common/log.h"

struct seen {
    char line[1100];
    int lines;
};

static void remember(void *user, const char *line)
{
    struct seen *seen = user;
    snprintf(seen->line, sizeof(seen->line), "%s", line);
    seen->lines++;
}

static void verbose_follows_the_setting(void **state)
{
    (void)state;
    assert_int_equal(convop_set("verbose", "1"), CONVOP_OK);
    assert_true(cvp_verbose(0));
    assert_true(cvp_verbose(1));
    assert_false(cvp_verbose(2));
    assert_int_equal(convop_set("verbose", NULL), CONVOP_OK);
    /* The environment holds what does not parse: that counts as 0, and is not reported here. */
    char before[1024];
    snprintf(before, sizeof(before), "%s", convop_last_error());
    assert_false(cvp_verbose(1));
    assert_string_equal(convop_last_error(), before);
}

static void line_has_the_prefix_and_no_newline(void **state)
{
    (void)state;
    struct seen seen = {0};
    const struct cvp_sink sink = {remember, &seen};
    cvp_log(&sink, "exec,%s,%d\nmore", "conv", 3);
    assert_string_equal(seen.line, "convop,v1,exec,conv,3 more");
    assert_int_equal(seen.lines, 1);
}

static void long_line_is_cut_off(void **state)
{
    (void)state;
    struct seen seen = {0};
    const struct cvp_sink sink = {remember, &seen};
    char text[3000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    cvp_log(&sink, "%s", text);
    assert_int_equal(strlen(seen.line), 1023);
}

static void process_sink_is_used_without_another(void **state)
{
    (void)state;
    struct seen process = {0}, own = {0};
    const struct cvp_sink none = {NULL, NULL}, sink = {remember, &own};
    convop_set_log_sink(remember, &process);
    cvp_log(NULL, "a");
    cvp_log(&none, "b");
    cvp_log(&sink, "c");
    convop_set_log_sink(NULL, NULL);
    assert_int_equal(process.lines, 2);
    assert_string_equal(process.line, "convop,v1,b");
    assert_int_equal(own.lines, 1);
}

static void default_sink_is_stderr(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDERR_FILENO);
    char text[64] = "";
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    cvp_log(NULL, "hello");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    close(ends[0]);
    assert_string_equal(text, "convop,v1,hello\n");
}

static void replace_sink(void *user, const char *line)
{
    (void)line;
    struct seen *seen = user;
    seen->lines++;
    /* Both would hang if a lock were held or this call were waited for. */
    convop_set_log_sink(remember, user);
    cvp_log(NULL, "inner");
}

static void sink_may_set_the_sink_and_log(void **state)
{
    (void)state;
    struct seen seen = {0};
    convop_set_log_sink(replace_sink, &seen);
    cvp_log(NULL, "outer");
    convop_set_log_sink(NULL, NULL);
    assert_int_equal(seen.lines, 2);
    assert_string_equal(seen.line, "convop,v1,inner");
}

static _Atomic int entered, left;

static void slow_sink(void *user, const char *line)
{
    (void)user;
    (void)line;
    atomic_store(&entered, 1);
    usleep(50000);
    atomic_store(&left, 1);
}

static void *log_once(void *arg)
{
    (void)arg;
    cvp_log(NULL, "slow");
    return NULL;
}

static void setting_a_sink_waits_for_the_one_before(void **state)
{
    (void)state;
    pthread_t thread;
    convop_set_log_sink(slow_sink, NULL);
    assert_int_equal(pthread_create(&thread, NULL, log_once, NULL), 0);
    while (!atomic_load(&entered)) usleep(100);
    convop_set_log_sink(NULL, NULL);
    assert_true(atomic_load(&left));
    pthread_join(thread, NULL);
}

static void forking_sink(void *user, const char *line)
{
    (void)line;
    int *child = user;
    *child = fork();
}

/* In the child the parent's other calls never end; waiting for them would hang. */
static void a_forked_child_waits_for_nobody(void **state)
{
    (void)state;
    pthread_t thread;
    int child = -1, status;
    atomic_store(&entered, 0);
    convop_set_log_sink(slow_sink, NULL);
    assert_int_equal(pthread_create(&thread, NULL, log_once, NULL), 0);
    while (!atomic_load(&entered)) usleep(100);
    pid_t other = fork();
    if (other == 0) {
        alarm(20);
        convop_set_log_sink(NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
    /* The sink itself may fork: both sides return from it. */
    convop_set_log_sink(forking_sink, &child);
    cvp_log(NULL, "fork");
    if (child == 0) {
        alarm(20);
        convop_set_log_sink(remember, NULL);
        convop_set_log_sink(NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    convop_set_log_sink(NULL, NULL);
}

/* Sink and user belong together: each user says which sink it is for, and is wiped when replaced.
 */
struct owner {
    int of;
};
static _Atomic int mixed, stop;

static void sink_one(void *user, const char *line)
{
    (void)line;
    if (((struct owner *)user)->of != 1) atomic_fetch_add(&mixed, 1);
}

static void sink_two(void *user, const char *line)
{
    (void)line;
    if (((struct owner *)user)->of != 2) atomic_fetch_add(&mixed, 1);
}

static void *logger(void *arg)
{
    (void)arg;
    while (!atomic_load(&stop)) cvp_log(NULL, "line");
    return NULL;
}

static void replaced_sink_is_never_called_again(void **state)
{
    (void)state;
    pthread_t threads[3];
    struct owner *owner = malloc(sizeof(*owner));
    owner->of = 1;
    convop_set_log_sink(sink_one, owner);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, logger, NULL), 0);
    for (int i = 0; i < 200; i++) {
        struct owner *next = malloc(sizeof(*next));
        next->of = i % 2 ? 1 : 2;
        convop_set_log_sink(i % 2 ? sink_one : sink_two, next);
        owner->of = -1;
        free(owner);
        owner = next;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    convop_set_log_sink(NULL, NULL);
    free(owner);
    assert_int_equal(mixed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbose_follows_the_setting),
        cmocka_unit_test(line_has_the_prefix_and_no_newline),
        cmocka_unit_test(long_line_is_cut_off),
        cmocka_unit_test(process_sink_is_used_without_another),
        cmocka_unit_test(default_sink_is_stderr),
        cmocka_unit_test(sink_may_set_the_sink_and_log),
        cmocka_unit_test(setting_a_sink_waits_for_the_one_before),
        cmocka_unit_test(a_forked_child_waits_for_nobody),
        cmocka_unit_test(replaced_sink_is_never_called_again),
    };
    if (setenv("CONVOP_VERBOSE", "loud", 1) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
