/* How much scratch memory rows ask for: the layers of MobileNet at batch 32 get by with 8 MiB, in
 * any direction and layout, on up to 32 threads, and with 256 KiB for each thread on more; no row
 * asks for more than the parameter `workspace`.
 *
 *     test_conv_workspace LIST...     problem lists, a descriptor a line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "convop/convop.h"
#include "tests/support/expect.h"
#include "tools/problems/query.h"

#define BATCH        32
#define MOST_BYTES   ((size_t)8 << 20)
#define THREAD_BYTES ((size_t)256 << 10)
#define MAX_LAYERS   64
#define MAX_ROWS     64

static char texts[MAX_LAYERS][256];
static struct descriptor layers[MAX_LAYERS];
static int num_layers;

static int read_layers(const char *path)
{
    FILE *f = fopen(path, "r");
    struct descriptor_error error;
    if (!f) return 0;
    while (num_layers < MAX_LAYERS && fgets(texts[num_layers], sizeof texts[0], f)) {
        texts[num_layers][strcspn(texts[num_layers], "#\r\n")] = 0;
        if (!texts[num_layers][0]) continue;
        if (!descriptor_parse(texts[num_layers], &layers[num_layers], &error)) break;
        layers[num_layers++].mb = BATCH;
    }
    return fclose(f) == 0;
}

static void no_loop(void *user, int64_t n, convop_parallel_body body, void *arg)
{
    (void)user;
    for (int64_t i = 0; i < n; i++) body(arg, i);
}

/* The host's threads: convop starts none. */
static convop_context *create_context(int threads)
{
    convop_context_options options = CONVOP_CONTEXT_OPTIONS_INIT;
    convop_context *context;
    options.num_threads = threads;
    options.parallel_for = no_loop;
    expect_ok(convop_context_create(&options, &context));
    return context;
}

/* What the row that would run asks for; of all rows that could, it is within the limit. */
static size_t ask(const struct descriptor *d, enum direction direction, enum tag tag, size_t limit,
                  convop_context *context)
{
    static convop_conv_row rows[MAX_ROWS];
    static const struct post_ops alone = {ADD_NOTHING, CONVOP_ACTIVATION_NONE};
    struct query q;
    convop_exec exec = CONVOP_EXEC_INIT;
    size_t count = MAX_ROWS, chosen = SIZE_MAX;
    exec.context = context;
    query_make(d, &alone, direction, F32, tag, &q);
    if (limit) q.params.workspace_bytes = limit;
    expect_ok(convop_conv_explain(&q.params, library_direction(direction), &q.src, &q.weights,
                                  &q.dst, &exec, rows, &count));
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].applicable) continue;
        if (rows[i].workspace_bytes > q.params.workspace_bytes)
            fail_msg("%.*s %s %s %s: %zu bytes, allowed are %zu", d->name_length, d->name,
                     direction_name(direction), tag_name(tag), rows[i].name,
                     rows[i].workspace_bytes, (size_t)q.params.workspace_bytes);
        if (rows[i].chosen) chosen = rows[i].workspace_bytes;
    }
    assert_true(chosen != SIZE_MAX);
    return chosen;
}

typedef void for_case(const struct descriptor *d, enum direction direction, enum tag tag,
                      convop_context *context);

static void each_case(const int *threads, int count, for_case *visit)
{
    static const enum direction directions[] = {FWD_D, BWD_D, BWD_W};
    assert_true(num_layers > 40);
    for (int t = 0; t < count; t++) {
        convop_context *context = create_context(threads[t]);
        for (int l = 0; l < num_layers; l++)
            for (int d = 0; d < 3; d++)
                for (int tag = 0; tag < NUM_TAGS; tag++)
                    visit(&layers[l], directions[d], (enum tag)tag, context);
        convop_context_destroy(&context);
    }
}

static void within_bounds(const struct descriptor *d, enum direction direction, enum tag tag,
                          convop_context *context)
{
    size_t bytes = ask(d, direction, tag, 0, context);
    int threads = convop_context_num_threads(context);
    const size_t most = THREAD_BYTES * (size_t)threads;
    if (bytes > (most > MOST_BYTES ? most : MOST_BYTES))
        fail_msg("%.*s %s %s, %d threads: %zu bytes", d->name_length, d->name,
                 direction_name(direction), tag_name(tag), threads, bytes);
}

static void mobilenet_gets_by_with_little(void **state)
{
    (void)state;
    static const int threads[] = {1,  2,  3,  4,  5,  6,  7,   8,   12,
                                  16, 24, 32, 48, 64, 96, 128, 192, 256};
    each_case(threads, (int)(sizeof threads / sizeof threads[0]), within_bounds);
}

static void within_limits(const struct descriptor *d, enum direction direction, enum tag tag,
                          convop_context *context)
{
    for (size_t limit = 1; limit < MOST_BYTES; limit *= 7) ask(d, direction, tag, limit, context);
}

static void no_row_asks_for_more_than_allowed(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 16, 64};
    each_case(threads, 5, within_limits);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mobilenet_gets_by_with_little),
        cmocka_unit_test(no_row_asks_for_more_than_allowed),
    };
    for (int i = 1; i < argc; i++)
        if (!read_layers(argv[i])) return fprintf(stderr, "%s cannot be read\n", argv[i]), 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
