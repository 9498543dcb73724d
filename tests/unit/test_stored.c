/* Kernels of stored elements, for every instruction set of this CPU and every type: all 16-bit
 * patterns, numbers at and beside ties, strides, sums that are rounded once, panels of elements
 * that are packed or gathered; with forbidden pages behind what is read and written.
 *
 *     CONVOP_SEED=<seed> test_stored     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/half.h"
#include "src/operator/stored/stored.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

static int is_half(int type)
{
    return type == CVP_STORED_F16 || type == CVP_STORED_BF16;
}

static float widened(int type, uint16_t h)
{
    return type == CVP_STORED_F16 ? cvp_float_of_f16(h) : cvp_float_of_bf16(h);
}

static uint16_t narrowed(int type, float f)
{
    return type == CVP_STORED_F16 ? cvp_f16_of_float(f) : cvp_bf16_of_float(f);
}

#define FOR_EACH_HALF(isa, type)                                                                   \
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)           \
        for (int type = 0; type < CVP_STORED_COUNT; type++)                                        \
            if (is_half(type))

static void every_element(void **state)
{
    (void)state;
    enum { ALL = 1 << 16 };
    uint16_t *halves = malloc(ALL * sizeof *halves);
    float *got = malloc(ALL * sizeof *got), *want = malloc(ALL * sizeof *want);
    for (int i = 0; i < ALL; i++) halves[i] = (uint16_t)i;
    FOR_EACH_HALF(isa, type)
    {
        cvp_stored((enum cvp_stored_type)type, (enum cvp_isa)isa)->load(got, halves, 1, ALL);
        for (int i = 0; i < ALL; i++) {
            want[i] = widened(type, halves[i]);
            /* Whether a signalling NaN becomes a quiet one is the instruction's. */
            if (want[i] != want[i]) got[i] = want[i] = got[i] != got[i] ? 0 : 1;
        }
        assert_memory_equal(got, want, ALL * sizeof *got);
    }
    free(halves);
    free(got);
    free(want);
}

/* Numbers around every element and every tie between two, and any bits. */
static float interesting(struct rng *r, int type)
{
    uint32_t bits = cvp_bits_of_float(widened(type, (uint16_t)rng_next(r)));
    const uint32_t tie = type == CVP_STORED_F16 ? 0x1000 : 0x8000;
    switch (rng_int(r, 0, 3)) {
    case 0: return cvp_float_of_bits((uint32_t)rng_next(r));
    case 1: return cvp_float_of_bits(bits + tie);
    case 2: return cvp_float_of_bits(bits + tie + (rng_chance(r, 50) ? 1 : (uint32_t)-1));
    default: return cvp_float_of_bits(bits + (uint32_t)rng_int(r, -1, 1));
    }
}

static void rounding(void **state)
{
    (void)state;
    struct rng r = {test_seed(31)};
    enum { MOST = 70 };
    FOR_EACH_HALF(isa, type)
    for (int64_t t = test_scaled(3000); t > 0; t--) {
        const struct cvp_stored *k = cvp_stored((enum cvp_stored_type)type, (enum cvp_isa)isa);
        const int64_t n = rng_int(&r, 0, MOST), step = rng_chance(&r, 70) ? 1 : rng_int(&r, 2, 3);
        const int64_t room = n > 0 ? (n - 1) * step + 1 : 0;
        const int add = rng_chance(&r, 40);
        struct guard to = guard_create((size_t)room * 2, 1), from = guard_create((size_t)n * 4, 1);
        uint16_t *halves = (void *)to.data, want[3 * MOST];
        float *numbers = (void *)from.data;
        for (int64_t i = 0; i < n; i++) numbers[i] = interesting(&r, type);
        for (int64_t i = 0; i < room; i++) halves[i] = want[i] = (uint16_t)rng_next(&r);
        for (int64_t i = 0; i < n; i++) {
            const float old = widened(type, want[i * step]);
            want[i * step] = narrowed(type, add ? old + numbers[i] : numbers[i]);
        }
        k->store(halves, 0, step, numbers, 0, 1, n, add);
        for (int64_t i = 0; i < room; i++) {
            const float a = widened(type, halves[i]), b = widened(type, want[i]);
            if (halves[i] != want[i] && (a == a || b == b))
                fail_msg("isa %d, type %d: element %lld of %lld is %#x, must be %#x", isa, type,
                         (long long)i, (long long)n, halves[i], want[i]);
        }
        guard_destroy(&to);
        guard_destroy(&from);
    }
}

/* Small integers, which every type holds, of strides that have code of their own and that have
 * none. */
static void loading(void **state)
{
    (void)state;
    struct rng r = {test_seed(34)};
    enum { MOST = 70 };
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)
        for (int64_t t = test_scaled(1000); t > 0; t--) {
            const enum cvp_stored_type type =
                (enum cvp_stored_type)rng_int(&r, 0, CVP_STORED_COUNT - 1);
            const struct cvp_stored *k = cvp_stored(type, (enum cvp_isa)isa);
            const int64_t n = rng_int(&r, 0, MOST), step = rng_int(&r, 1, 4);
            const int64_t room = n > 0 ? (n - 1) * step + 1 : 0;
            const int is_double = type == CVP_STORED_F64;
            const size_t number = is_double ? 8 : 4;
            struct guard from = guard_create((size_t)room * (size_t)k->size, 1);
            struct guard to = guard_create((size_t)n * number, 1);
            double wide[4 * MOST];
            float narrow[4 * MOST];
            for (int64_t i = 0; i < room; i++)
                narrow[i] = (float)(wide[i] = (double)rng_int(&r, -128, 128));
            k->store(from.data, 0, 1, is_double ? (void *)wide : (void *)narrow, 0, 1, room, 0);
            k->load(to.data, from.data, step, n);
            for (int64_t i = 0; i < n; i++)
                assert_true(wide[i * step] ==
                            (is_double ? ((double *)to.data)[i] : (double)((float *)to.data)[i]));
            guard_destroy(&from);
            guard_destroy(&to);
        }
}

/* What a row of `rows` holds lies where packing the numbers themselves puts it. */
static void panels(void **state)
{
    (void)state;
    struct rng r = {test_seed(32)};
    enum { MOST = 40, DEPTH = 150 };
    float *want = malloc(MOST * DEPTH * 4 + CVP_GEMM_PACK_SLACK),
          *got = malloc(MOST * DEPTH * 4 + CVP_GEMM_PACK_SLACK);
    float *numbers = malloc(MOST * DEPTH * 4);
    FOR_EACH_HALF(isa, type)
    for (int64_t t = test_scaled(100); t > 0; t--) {
        const struct cvp_gemm_kernels *g = cvp_gemm_kernels(CVP_F32, (enum cvp_isa)isa);
        const int is_b = rng_chance(&r, 50), width = is_b ? g->nr : (int)rng_int(&r, 1, g->mr);
        const int valid = (int)rng_int(&r, 1, width);
        const int64_t k = rng_int(&r, 1, DEPTH), way = rng_int(&r, 0, 2);
        const int64_t across = way == 0 ? 1 : k, along = way == 0 ? valid : 1;
        struct guard memory = guard_create((size_t)(valid * k * 2), 1);
        uint16_t *halves = (void *)memory.data;
        for (int64_t i = 0; i < valid * k; i++) {
            halves[i] = narrowed(type, (float)rng_real(&r, -1, 1));
            numbers[i] = widened(type, halves[i]);
        }
        const enum cvp_stored_type stored = (enum cvp_stored_type)type;
        (is_b ? g->pack_b : g->pack_a)(want, width, valid, k, numbers, across, along);
        (is_b ? cvp_stored_pack_b : cvp_stored_pack_a)(stored, (enum cvp_isa)isa)(
            got, width, valid, k, halves, across, along);
        assert_memory_equal(got, want, (size_t)(width * k) * sizeof *got);
        guard_destroy(&memory);
    }
    free(want);
    free(got);
    free(numbers);
}

static void gathering(void **state)
{
    (void)state;
    struct rng r = {test_seed(33)};
    enum { ROWS = 5, ROW = 100, COLUMNS = 64, SLACK = 16 };
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)
        for (int type = 0; type < CVP_STORED_COUNT; type++) {
            const struct cvp_stored *k = cvp_stored((enum cvp_stored_type)type, (enum cvp_isa)isa);
            const size_t size = type == CVP_STORED_F64 ? 8 : 4;
            char elements[ROWS * ROW * 8], numbers[ROWS * ROW * 8];
            char panel[(ROWS * COLUMNS + SLACK) * 8];
            memset(numbers, 0, sizeof numbers);
            for (int i = 0; i < ROWS * ROW; i++)
                if (size == 8)
                    ((double *)(void *)numbers)[i] = (double)rng_int(&r, -8, 8);
                else
                    ((float *)(void *)numbers)[i] = (float)rng_int(&r, -8, 8);
            k->store(elements, 0, 1, numbers, 0, 1, ROWS * ROW, 0);
            int64_t table[ROWS];
            for (int i = 0; i < ROWS; i++) table[i] = rng_int(&r, 0, ROWS - 1) * ROW;
            const int64_t cut = rng_int(&r, 1, COLUMNS - 1);
            const struct cvp_piece pieces[] = {{rng_int(&r, 0, 9), 0, cut},
                                               {rng_int(&r, 0, 9), cut, COLUMNS - cut}};
            k->gather(panel, COLUMNS, elements, table, ROWS, pieces, 2);
            for (int p = 0; p < ROWS; p++)
                for (int i = 0; i < 2; i++)
                    assert_memory_equal(panel + (size_t)(p * COLUMNS + pieces[i].to) * size,
                                        numbers + (size_t)(table[p] + pieces[i].from) * size,
                                        (size_t)pieces[i].n * size);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element), cmocka_unit_test(rounding),  cmocka_unit_test(loading),
        cmocka_unit_test(panels),        cmocka_unit_test(gathering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
