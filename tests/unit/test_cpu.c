/* The CPU: what is found agrees with the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <sched.h>

#include "src/common/cpu.h"

static void found_once_and_plausible(void **state)
{
    (void)state;
    const struct cvp_cpu *cpu = cvp_cpu();
    assert_ptr_equal(cpu, cvp_cpu());
    assert_true(cpu->processors >= 1);
    assert_true(cpu->name[0] != '\0');
    assert_true(cpu->l1d >= 0 && cpu->l1d <= 1 << 20);
    assert_true(cpu->l2 == 0 || cpu->l2 >= cpu->l1d);
    assert_true(cpu->l3 >= 0);
    assert_true(cvp_cpu_l2() == (cpu->l2 > 0 ? cpu->l2 : 1 << 20));
}

static void processors_respect_affinity(void **state)
{
    (void)state;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0) skip();
    assert_true(cvp_cpu()->processors <= CPU_COUNT(&set));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_once_and_plausible),
        cmocka_unit_test(processors_respect_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
