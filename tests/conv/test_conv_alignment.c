/* Each operand at every address that its dtype allows within a line of 64 bytes: the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "tests/support/placed.h"

#define LINE 64

struct homes {
    char *memory[PLACED + 1]; /* the last one is the workspace */
};

static void homes_create(struct homes *h, struct conv_case *c, size_t scratch)
{
    for (int i = 0; i <= PLACED; i++) {
        size_t bytes = i < PLACED ? placed_bytes(c, i) : scratch;
        h->memory[i] = aligned_alloc(LINE, (bytes + 3 * LINE) / LINE * LINE);
        if (h->memory[i] == NULL) abort();
    }
}

static void homes_free(struct homes *h)
{
    for (int i = 0; i <= PLACED; i++) free(h->memory[i]);
}

/* The direction by the row, `moved` (or all, PLACED + 1) off by `shift` bytes. */
static void run(struct conv_case *c, struct homes *h, convop_conv_direction direction,
                const convop_conv_row *row, int moved, size_t shift)
{
    struct placed p = {.c = c};
    convop_exec exec = CONVOP_EXEC_INIT;
    struct box *out = conv_case_output(c, placed_output(direction));
    box_fill_value(out, 1); /* what an "add" adds to */
    for (int i = 0; i < PLACED; i++)
        placed_put(&p, i, h->memory[i] + (i == moved || moved > PLACED ? shift : 0));
    exec.workspace = h->memory[PLACED] + (moved >= PLACED ? shift : 0);
    exec.workspace_bytes = row->workspace_bytes + LINE;
    convop_set("impl", row->name);
    convop_status status =
        direction == CONVOP_FWD ? placed_forward(&p, &exec) : placed_backward(&p, &exec);
    convop_set("impl", NULL);
    if (status != CONVOP_OK) fail_msg("row %s: %s", row->name, convop_last_error());
    placed_take_back(&p);
}

static void every_shift(struct conv_case *c, convop_conv_direction direction,
                        const convop_conv_row *row)
{
    struct homes h;
    struct box *out = conv_case_output(c, placed_output(direction));
    size_t size = (size_t)out->tensor.dtype.bits / 8;
    homes_create(&h, c, row->workspace_bytes + LINE);
    run(c, &h, direction, row, -1, 0);
    unsigned char *want = box_snapshot(out);
    for (int moved = 0; moved <= PLACED + 1; moved++)
        for (size_t shift = size; shift < LINE; shift += size) {
            run(c, &h, direction, row, moved, shift);
            if (memcmp(want, out->memory, out->bytes) == 0) continue;
            conv_case_print(c);
            fail_msg("row %s, direction %d: other bits with operand %d off by %zu", row->name,
                     (int)direction, moved, shift);
        }
    free(want);
    homes_free(&h);
}

static void every_direction(struct conv_case *c, convop_request request)
{
    c->request = request;
    for (int d = CONVOP_FWD; d <= CONVOP_BWD_B; d++) {
        convop_conv_row rows[CONV_CASE_MAX_ROWS];
        int count = conv_case_rows(c, (convop_conv_direction)d, rows);
        if (count == 0) fail_msg("no row: %s", convop_last_error());
        for (int i = 0; i < 3; i++) c->requests[i] = i == d - 1 ? request : CONVOP_REQ_NULL;
        for (int r = 0; r < count; r++) every_shift(c, (convop_conv_direction)d, &rows[r]);
    }
}

static void same_bits(int type)
{
    static const struct conv_size sizes[] = {
        {2, 0, 0, 2, 9, 10, 1, 7, 3, 1, 1, 1},  {2, 1, 0, 1, 9, 17, 1, 7, 3, 2, 1, 1},
        {2, 0, 0, 2, 18, 20, 1, 5, 1, 1, 1, 0}, {2, 1, 0, 2, 18, 20, 1, 5, 1, 1, 1, 0},
        {2, 0, 0, 1, 5, 5, 5, 11, 3, 1, 1, 1},  {2, 1, 0, 1, 21, 21, 21, 9, 3, 1, 1, 1},
        {2, 1, 0, 1, 4, 8, 4, 9, 5, 2, 1, 2},   {1, 0, 0, 2, 6, 8, 2, 21, 4, 2, 1, 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct conv_size size = sizes[i];
        struct conv_case c;
        struct rng r = {i + 99};
        size.type = type;
        conv_case_fixed(&c, &size, 1, i);
        /* Numbers that round, so that another order of summation shows. */
        struct box *inputs[] = {&c.src, &c.weights, &c.bias, &c.diff_dst};
        for (int k = 0; k < 4; k++) box_fill_real(inputs[k], &r);
        every_direction(&c, i % 2 ? CONVOP_REQ_ADD : CONVOP_REQ_WRITE);
        conv_case_destroy(&c);
    }
}

static void float32(void **state)
{
    (void)state;
    same_bits(BOX_F32);
}

static void float64(void **state)
{
    (void)state;
    same_bits(BOX_F64);
}

static void float16(void **state)
{
    (void)state;
    same_bits(BOX_F16);
}

static void bfloat16(void **state)
{
    (void)state;
    same_bits(BOX_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float32),
        cmocka_unit_test(float64),
        cmocka_unit_test(float16),
        cmocka_unit_test(bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
