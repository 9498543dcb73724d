/* Panels of the GEMM kernels: every instruction set of this CPU, type, width and stride, with
 * forbidden pages behind what is packed, and nothing written beyond the slack.
 *
 *     CONVOP_SEED=<seed> test_gemm_pack     another series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <string.h>

#include "src/operator/gemm/gemm_kernels.h"
#include "tests/support/guard.h"
#include "tests/support/rng.h"

#define UNTOUCHED 77

static struct guard numbers_create(const struct cvp_gemm_kernels *k, struct rng *r, int64_t count)
{
    struct guard memory = guard_create((size_t)(count * k->size), 1);
    for (size_t i = 0; i < memory.bytes; i++)
        ((unsigned char *)memory.data)[i] = (unsigned char)rng_int(r, 0, 255);
    return memory;
}

/* A panel, with room for what may be written past it and a mark behind that. */
struct panel {
    char *data;
    size_t bytes;
};

static struct panel panel_create(const struct cvp_gemm_kernels *k, int width, int64_t depth)
{
    struct panel p = {NULL, (size_t)(width * depth * k->size) + CVP_GEMM_PACK_SLACK};
    p.data = malloc(p.bytes + 1);
    memset(p.data, UNTOUCHED, p.bytes + 1);
    return p;
}

/* Element (i, p) must be at[i][p * along], and rows from `valid` on repeat the last one. */
static void check_panel(const struct cvp_gemm_kernels *k, struct panel *panel, int width, int valid,
                        int64_t depth, const char *const *at, int64_t along)
{
    const size_t size = (size_t)k->size;
    for (int64_t p = 0; p < depth; p++)
        for (int i = 0; i < width; i++) {
            const char *want = at[i < valid ? i : valid - 1] + p * along * k->size;
            if (memcmp(panel->data + (size_t)(p * width + i) * size, want, size) != 0)
                fail_msg("%s, %d bytes, width %d of %d, depth %lld along %lld: element %d, %lld",
                         k->isa, k->size, valid, width, (long long)depth, (long long)along, i,
                         (long long)p);
        }
    assert_int_equal(panel->data[panel->bytes], UNTOUCHED);
    free(panel->data);
}

/* Rows anywhere, each up to a forbidden page. */
static void check_rows(const struct cvp_gemm_kernels *k, struct rng *r, int width, int64_t depth)
{
    struct guard memory[CVP_GEMM_MAX_WIDTH];
    const void *rows[CVP_GEMM_MAX_WIDTH];
    for (int i = 0; i < width; i++) {
        memory[i] = numbers_create(k, r, depth);
        rows[i] = memory[i].data;
    }
    struct panel panel = panel_create(k, width, depth);
    k->pack_rows(panel.data, width, depth, rows);
    check_panel(k, &panel, width, width, depth, (const char *const *)rows, 1);
    for (int i = 0; i < width; i++) guard_destroy(&memory[i]);
}

/* Element (i, p) at i * across + p * along, the last one before a forbidden page. */
static void check_strided(const struct cvp_gemm_kernels *k, struct rng *r, int width, int valid,
                          int64_t depth, int64_t across, int64_t along)
{
    struct guard memory = numbers_create(k, r, (valid - 1) * across + (depth - 1) * along + 1);
    const char *rows[CVP_GEMM_MAX_WIDTH];
    for (int i = 0; i < valid; i++) rows[i] = (const char *)memory.data + i * across * k->size;
    struct panel panel = panel_create(k, width, depth);
    (width == k->nr ? k->pack_b : k->pack_a)(panel.data, width, valid, depth, memory.data, across,
                                             along);
    check_panel(k, &panel, width, valid, depth, rows, along);
    guard_destroy(&memory);
}

static void all_widths(void **state)
{
    (void)state;
    struct rng r = {test_seed(31)};
    for (int isa = CVP_ISA_BASELINE; isa <= (int)cvp_isa_vectors(cvp_isa_best()); isa++)
        for (int type = 0; type < CVP_FLOAT_COUNT; type++) {
            const struct cvp_gemm_kernels *k =
                cvp_gemm_kernels((enum cvp_float)type, (enum cvp_isa)isa);
            for (int width = 1; width <= CVP_GEMM_MAX_WIDTH; width++)
                for (int64_t n = test_scaled(3); n > 0; n--)
                    check_rows(k, &r, width, rng_int(&r, 1, 70));
            for (int i = 1; i <= k->mr + 1; i++)
                for (int64_t n = test_scaled(6); n > 0; n--) {
                    const int width = i > k->mr ? k->nr : i, valid = (int)rng_int(&r, 1, width);
                    const int64_t depth = rng_int(&r, 1, 90);
                    check_strided(k, &r, width, valid, depth, depth + rng_int(&r, 0, 3), 1);
                    check_strided(k, &r, width, valid, depth, 1, valid + rng_int(&r, 0, 3));
                    check_strided(k, &r, width, valid, depth, 2, 2 * valid + 1);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_widths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
