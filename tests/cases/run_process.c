/* Threads, forks and instruction sets: each in a process of its own, which an alarm ends should it
 * hang. The programs test_conv_threads and test_conv_fork take a case's id as their argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/cpu.h"
#include "tests/cases/run.h"
#include "tests/support/child.h"

#define SKIPPED 77

/* Runs a program in a process whose settings are those of this one; but with an `isa` given it is
 * under that, and silent. */
static int run_program(const char *path, const char *argument, const char *isa)
{
    pid_t child = fork();
    if (child == 0) {
        if (isa != NULL) {
            setenv("CONVOP_ISA", isa, 1);
            if (freopen("/dev/null", "w", stdout) == NULL) _exit(126);
        }
        alarm(4 * TEST_CHILD_SECONDS); /* outlives exec */
        execl(path, path, argument, (char *)NULL);
        _exit(127);
    }
    return test_reap(child);
}

/* The program lies beside this one, in the folder of the convolution tests. */
static void program(const struct test_case *c, const char *name)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    if (n < 0) skip_case("/proc is not there");
    path[n] = '\0';
    snprintf(strrchr(path, '/'), 64, "/../conv/%s", name);
    int code = run_program(path, c->id, NULL);
    if (code == SKIPPED) skip_case("the program says why");
    if (code != 0) fail_msg("%s %s: exit code %d", path, c->id, code);
}

static void threads(const struct test_case *c)
{
    program(c, "test_conv_threads");
}

static void forks(const struct test_case *c)
{
    program(c, "test_conv_fork");
}

/* All computing cases under each instruction set; one above what this process may use is refused.
 */
static void every_isa(const struct test_case *c)
{
    (void)c;
    if (getenv("CONVOP_ISA") != NULL) skip_case("is run where CONVOP_ISA is not set");
    enum cvp_isa best;
    assert_int_equal(cvp_isa_in_use(&best), CONVOP_OK);
    for (int isa = 0; isa < CVP_ISA_COUNT; isa++) {
        const char *name = cvp_isa_name((enum cvp_isa)isa);
        int code = run_program("/proc/self/exe", "--computing", name);
        if (isa <= (int)best && code != 0)
            fail_msg("exit code %d; repeat with: CONVOP_ISA=%s run_cases --computing", code, name);
        if (isa > (int)best && code != SKIPPED)
            fail_msg("%s is beyond this CPU, system or library, the exit code must be %d, not %d",
                     name, SKIPPED, code);
    }
}

case_run run_process_for(const struct test_case *c)
{
    if (strcmp(c->id, "isa.all_paths") == 0) return every_isa;
    if (strncmp(c->id, "thr.", 4) == 0) return threads;
    if (strncmp(c->id, "fork.", 5) == 0) return forks;
    return NULL;
}
