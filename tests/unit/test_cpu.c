/* The CPU: what is found agrees with the system, and the setting "isa" caps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "convop/settings.h"
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

static void isa_agrees_with_the_compiler(void **state)
{
    (void)state;
#if defined(__x86_64__)
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    assert_int_equal(cvp_cpu()->isa >= CVP_ISA_AVX2, avx2);
    assert_int_equal(cvp_cpu()->isa >= CVP_ISA_AVX512, avx2 && avx512);
#else
    assert_int_equal(cvp_cpu()->isa, CVP_ISA_BASELINE);
#endif
}

static void names_are_those_of_the_setting(void **state)
{
    (void)state;
    for (int i = 0; i < CVP_ISA_COUNT; i++) {
        assert_int_equal(convop_set("isa", cvp_isa_name((enum cvp_isa)i)), CONVOP_OK);
        enum cvp_isa isa = CVP_ISA_COUNT;
        if (i <= (int)cvp_isa_best()) {
            assert_int_equal(cvp_isa_in_use(&isa), CONVOP_OK);
            assert_int_equal(isa, i);
        } else {
            assert_int_equal(cvp_isa_in_use(&isa), CONVOP_E_INVALID);
            assert_non_null(strstr(convop_last_error(), cvp_isa_name((enum cvp_isa)i)));
            assert_int_equal(isa, CVP_ISA_COUNT);
        }
    }
    assert_string_equal(cvp_isa_name(CVP_ISA_COUNT), "unknown");
}

static void neon_is_for_aarch64(void **state)
{
    (void)state;
    enum cvp_isa isa = CVP_ISA_COUNT;
    assert_int_equal(convop_set("isa", "neon"), CONVOP_OK);
#if defined(__aarch64__)
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_OK);
    assert_int_equal(isa, CVP_ISA_BASELINE);
#else
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "neon"));
#endif
}

static void auto_is_the_highest_and_bad_is_an_error(void **state)
{
    (void)state;
    enum cvp_isa isa = CVP_ISA_COUNT;
    assert_int_equal(convop_set("isa", "auto"), CONVOP_OK);
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_OK);
    assert_true(isa <= cvp_isa_best());
    assert_int_equal(convop_set("isa", NULL), CONVOP_OK);
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_E_INVALID); /* the environment's, see main */
    assert_non_null(strstr(convop_last_error(), "CONVOP_ISA=sse9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_once_and_plausible),
        cmocka_unit_test(processors_respect_affinity),
        cmocka_unit_test(isa_agrees_with_the_compiler),
        cmocka_unit_test(names_are_those_of_the_setting),
        cmocka_unit_test(neon_is_for_aarch64),
        cmocka_unit_test(auto_is_the_highest_and_bad_is_an_error),
    };
    if (setenv("CONVOP_ISA", "sse9", 1) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
