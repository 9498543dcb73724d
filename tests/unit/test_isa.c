/* Instruction sets: what is found agrees with the compiler, the setting "isa" caps it, and Linux is
 * asked for the tiles of amx only where they are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "convop/convolution.h"
#include "convop/info.h"
#include "convop/settings.h"
#include "src/common/cpu.h"
#include "tests/support/child_check.h"

static void isa_agrees_with_the_compiler(void **state)
{
    (void)state;
#if defined(__x86_64__)
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    assert_int_equal(cvp_cpu()->isa >= CVP_ISA_AVX2, avx2);
    assert_int_equal(cvp_cpu()->isa >= CVP_ISA_AVX512, avx2 && avx512);
    assert_true(cvp_cpu()->isa < CVP_ISA_AMX || __builtin_cpu_supports("avx512bf16"));
#else
    assert_int_equal(cvp_cpu()->isa, CVP_ISA_BASELINE);
#endif
}

static void names_are_those_of_the_setting(void **state)
{
    (void)state;
    enum cvp_isa best;
    assert_int_equal(convop_set("isa", "auto"), CONVOP_OK);
    assert_int_equal(cvp_isa_in_use(&best), CONVOP_OK);
    for (int i = 0; i < CVP_ISA_COUNT; i++) {
        assert_int_equal(convop_set("isa", cvp_isa_name((enum cvp_isa)i)), CONVOP_OK);
        enum cvp_isa isa = CVP_ISA_COUNT;
        if (i <= (int)best) {
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
    assert_true(isa <= cvp_isa_best() && isa >= cvp_isa_vectors(cvp_isa_best()));
    assert_int_equal(convop_set("isa", NULL), CONVOP_OK);
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_E_INVALID); /* the environment's, see main */
    assert_non_null(strstr(convop_last_error(), "CONVOP_ISA=sse9"));
}

#if defined(__x86_64__)
/* ---- the tiles of amx: in children, for what a process has been given stays ---- */

enum { ARCH_GET_XCOMP_PERM = 0x1022, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

/* 1 if Linux has given them to this process; -1 where it does not know of them. */
static int has_tiles(void)
{
    uint64_t mask = 0;
    if (syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &mask) != 0) return -1;
    return mask >> XFEATURE_XTILEDATA & 1;
}

static convop_info_item info_of_isa(void)
{
    convop_info_item item = {.struct_size = sizeof item}, found = item;
    for (size_t i = 0; convop_info(i, &item) == CONVOP_OK; i++)
        if (strcmp(item.name, "instruction set") == 0) found = item;
    return found;
}

static convop_status call(void)
{
    float image[9] = {1}, filter[4] = {1}, result[4];
    int64_t image_shape[] = {1, 1, 3, 3}, filter_shape[] = {1, 1, 2, 2};
    int64_t result_shape[] = {1, 1, 2, 2};
    DLTensor src = {image, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, image_shape, NULL, 0};
    DLTensor weights = {filter, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, filter_shape, NULL, 0};
    DLTensor dst = {result, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, result_shape, NULL, 0};
    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(2, 2);
    params.num_filter = 1;
    params.no_bias = 1;
    return convop_conv_forward(&params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL);
}

static int others_do_not_ask(void *arg)
{
    (void)arg;
    if (has_tiles() < 0) return ABSENT;
    for (int i = 0; i <= CVP_ISA_AVX512 && i <= (int)cvp_isa_best(); i++) {
        const char *name = cvp_isa_name((enum cvp_isa)i);
        CHECK(convop_set("isa", name) == CONVOP_OK);
        CHECK(call() == CONVOP_OK);
        CHECK(strcmp(info_of_isa().value, name) == 0);
    }
    CHECK(has_tiles() == 0);
    return RIGHT;
}

/* This process asks itself; the library is to find the same. */
static int is_amx_as_linux_says(void *arg)
{
    (void)arg;
    if (cvp_isa_best() < CVP_ISA_AMX) return ABSENT;
    const int given = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, (long)XFEATURE_XTILEDATA) == 0;
    enum cvp_isa isa;
    CHECK(convop_set("isa", "auto") == CONVOP_OK);
    CHECK(cvp_isa_in_use(&isa) == CONVOP_OK);
    CHECK((isa == CVP_ISA_AMX) == given);
    CHECK(convop_set("isa", "amx") == CONVOP_OK);
    CHECK((cvp_isa_in_use(&isa) == CONVOP_OK) == given);
    return given ? RIGHT : ABSENT;
}

static int amx_asks(void *by_name)
{
    if (cvp_isa_best() < CVP_ISA_AMX) return ABSENT;
    CHECK(has_tiles() == 0);
    CHECK(convop_set("isa", by_name ? "amx" : "auto") == CONVOP_OK);
    if (strcmp(info_of_isa().value, "amx") != 0) return ABSENT; /* the test before says why */
    CHECK(call() == CONVOP_OK);
    CHECK(has_tiles() == 1);
    return RIGHT;
}

/* Holds a frame with the registers of AVX-512, and not one with tiles. */
static char small_stack[8192];

static int set_small_stack(void)
{
    const stack_t stack = {.ss_sp = small_stack, .ss_size = sizeof small_stack};
    return sigaltstack(&stack, NULL);
}

static int refused_is_avx512(void *arg)
{
    (void)arg;
    if (cvp_isa_best() < CVP_ISA_AMX) return ABSENT;
    CHECK(set_small_stack() == 0);
    enum cvp_isa isa;
    CHECK(convop_set("isa", "auto") == CONVOP_OK);
    CHECK(cvp_isa_in_use(&isa) == CONVOP_OK && isa == cvp_isa_vectors(CVP_ISA_AMX));
    CHECK(strstr(info_of_isa().why, "the system refuses the tiles of amx: ") != NULL);
    CHECK(call() == CONVOP_OK);
    CHECK(convop_set("isa", "amx") == CONVOP_OK);
    CHECK(call() == CONVOP_E_INVALID);
    CHECK(strstr(convop_last_error(), "amx was asked for, the system refuses its tiles: "));
    CHECK(has_tiles() < 1);
    return RIGHT;
}

/* What docs/embedding.md says of a host. */
static int small_stack_after(void *by_avx512)
{
    if (cvp_isa_best() < CVP_ISA_AMX) return ABSENT;
    CHECK(convop_set("isa", by_avx512 ? "avx512" : "auto") == CONVOP_OK);
    CHECK(call() == CONVOP_OK);
    if (has_tiles() == 1)
        CHECK(set_small_stack() != 0 && errno == ENOMEM);
    else
        CHECK(set_small_stack() == 0);
    return RIGHT;
}

static void tiles_are_asked_for_by_amx_alone(void **state)
{
    (void)state;
    run_child(others_do_not_ask, NULL);
    run_child(is_amx_as_linux_says, NULL);
    run_child(amx_asks, NULL);
    run_child(amx_asks, &(int){1});
}

static void refused_tiles_leave_avx512(void **state)
{
    (void)state;
    run_child(refused_is_avx512, NULL);
}

static void tiles_need_a_larger_signal_stack(void **state)
{
    (void)state;
    run_child(small_stack_after, NULL);
    run_child(small_stack_after, &(int){1});
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        /* First, before this process has tiles. */
        cmocka_unit_test(tiles_are_asked_for_by_amx_alone),
        cmocka_unit_test(refused_tiles_leave_avx512),
        cmocka_unit_test(tiles_need_a_larger_signal_stack),
#endif
        cmocka_unit_test(isa_agrees_with_the_compiler),
        cmocka_unit_test(names_are_those_of_the_setting),
        cmocka_unit_test(neon_is_for_aarch64),
        cmocka_unit_test(auto_is_the_highest_and_bad_is_an_error),
    };
    if (setenv("CONVOP_ISA", "sse9", 1) != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
