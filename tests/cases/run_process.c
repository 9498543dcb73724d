/* Threads, forks and instruction sets: each in a process of its own, which an alarm ends should it
 * hang. The programs test_conv_threads and test_conv_fork take a case's id as their argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/cpu.h"
#include "tests/cases/run.h"
#include "tests/support/child.h"

#define SKIPPED 77

/* Runs a program in a process whose settings are those of this one but for `isa`. */
static int run_program(const char *path, const char *argument, const char *isa)
{
    pid_t child = fork();
    if (child == 0) {
        if (isa != NULL) setenv("CONVOP_ISA", isa, 1);
        alarm(4 * TEST_CHILD_SECONDS); /* outlives exec */
        execl(path, path, argument, (char *)NULL);
        _exit(127);
    }
    return test_reap(child);
}

static void program(const struct test_case *c, const char *variable)
{
    const char *path = getenv(variable);
    if (path == NULL) skip_case("run it by meson, which names the program in the environment");
    int code = run_program(path, c->id, NULL);
    if (code == SKIPPED) skip_case("the program says why");
    if (code != 0) fail_msg("%s %s: exit code %d", path, c->id, code);
}

static void threads(const struct test_case *c)
{
    program(c, "TEST_CONV_THREADS");
}

static void forks(const struct test_case *c)
{
    program(c, "TEST_CONV_FORK");
}

/* All computing cases under each instruction set; one above what the CPU has is refused. */
static void every_isa(const struct test_case *c)
{
    (void)c;
    if (getenv("CONVOP_ISA") != NULL) skip_case("is run where CONVOP_ISA is not set");
    for (int isa = 0; isa < CVP_ISA_COUNT; isa++) {
        const char *name = cvp_isa_name((enum cvp_isa)isa);
        int code = run_program("/proc/self/exe", "--computing", name);
        if (isa <= (int)cvp_cpu()->isa && code != 0) fail_msg("%s: exit code %d", name, code);
        if (isa > (int)cvp_cpu()->isa && code != SKIPPED)
            fail_msg("%s is beyond this CPU, the exit code must be %d, not %d", name, SKIPPED,
                     code);
    }
}

case_run run_process_for(const struct test_case *c)
{
    if (strcmp(c->id, "isa.all_paths") == 0) return every_isa;
    if (strncmp(c->id, "thr.", 4) == 0) return threads;
    if (strncmp(c->id, "fork.", 5) == 0) return forks;
    return NULL;
}
