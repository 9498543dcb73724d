/* A random graph of tasks: what it computes on the naive and on the threaded engine is what a plain
 * loop computes, bit for bit, values and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/support/engine.h"
#include "tests/support/rng.h"

#define NUM_TASKS 10000
#define NUM_VARS  100
#define MAX_LIST  19

/* values are guarded by the engine's variables of the same index. */
struct world {
    uint64_t value[NUM_VARS];
    convop_engine *engine; /* NULL: the plain loop */
    convop_var var[NUM_VARS];
};

struct node {
    struct world *world;
    int id, num_reads, num_writes, fails, spin, priority;
    int reads[MAX_LIST], writes[MAX_LIST];
};

static struct node node[NUM_TASKS];

/* Mixes all that is read into all that is written; the order of tasks matters to every bit. */
static convop_status mix(void *user)
{
    const struct node *n = user;
    uint64_t *value = n->world->value, sum = (uint64_t)n->id;
    for (volatile int i = 0; i < n->spin; i = i + 1) continue;
    for (int i = 0; i < n->num_reads; i++) sum = sum * 31 + value[n->reads[i]];
    if (n->fails) return convop_fail(CONVOP_E_DEVICE, "node %d failed", n->id);
    for (int i = 0; i < n->num_writes; i++) value[n->writes[i]] = sum + (uint64_t)n->writes[i];
    return CONVOP_OK;
}

static void make_graph(struct rng *random, int percent_fail)
{
    for (int id = 0; id < NUM_TASKS; id++) {
        struct node *n = &node[id];
        *n = (struct node){.id = id};
        n->num_reads = (int)rng_int(random, 0, MAX_LIST);
        n->num_writes = (int)rng_int(random, 1, 3);
        /* duplicates and updates come by chance */
        for (int i = 0; i < n->num_reads; i++) n->reads[i] = (int)rng_int(random, 0, NUM_VARS - 1);
        for (int i = 0; i < n->num_writes; i++) {
            n->writes[i] = (int)rng_int(random, 0, NUM_VARS - 1);
        }
        n->fails = rng_chance(random, percent_fail);
        if (percent_fail > 0 && rng_chance(random, 90)) n->num_reads = 0; /* or all errors spread */
        n->spin = (int)rng_int(random, 0, 2000);
        n->priority = (int)rng_int(random, -2, 2);
    }
}

/* The rules once more, as a loop: error[v] is the task whose failure is on v, -1 none. */
static void run_plainly(struct world *world, int *error)
{
    for (int v = 0; v < NUM_VARS; v++) error[v] = -1;
    for (int id = 0; id < NUM_TASKS; id++) {
        struct node *n = &node[id];
        int failed = -1;
        for (int i = 0; i < n->num_reads && failed < 0; i++) failed = error[n->reads[i]];
        n->world = world;
        if (failed < 0 && mix(n) != CONVOP_OK) failed = id;
        for (int i = 0; i < n->num_writes; i++) error[n->writes[i]] = failed;
    }
}

static void push_node(struct world *world, struct node *n)
{
    convop_var reads[MAX_LIST], writes[MAX_LIST];
    for (int i = 0; i < n->num_reads; i++) reads[i] = world->var[n->reads[i]];
    for (int i = 0; i < n->num_writes; i++) writes[i] = world->var[n->writes[i]];
    convop_task task = CONVOP_TASK_INIT;
    n->world = world;
    task.name = "node";
    task.run = mix;
    task.user = n;
    task.reads = reads;
    task.num_reads = (size_t)n->num_reads;
    task.writes = writes;
    task.num_writes = (size_t)n->num_writes;
    task.priority = n->priority;
    expect_ok(convop_engine_push(world->engine, &task));
}

static void check_world(struct world *world, const struct world *want, const int *error)
{
    for (int v = 0; v < NUM_VARS; v++) {
        convop_status status = convop_engine_wait(world->engine, world->var[v]);
        char text[64];
        snprintf(text, sizeof(text), "node %d failed", error[v]);
        assert_int_equal(status, error[v] < 0 ? CONVOP_OK : CONVOP_E_DEVICE);
        if (error[v] >= 0) assert_string_equal(convop_last_error(), text);
        if (world->value[v] != want->value[v]) fail_msg("variable %d differs", v);
    }
}

static void run_on_engine(convop_engine_kind kind, int workers, const struct world *want,
                          const int *error)
{
    struct world world = {{0}, NULL, {0}};
    uint64_t live = cvp_alloc_live();
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.kind = kind;
    options.num_workers = workers;
    expect_ok(convop_engine_create(&options, &world.engine));
    for (int v = 0; v < NUM_VARS; v++) world.var[v] = new_var(world.engine);
    for (int id = 0; id < NUM_TASKS; id++) push_node(&world, &node[id]);
    (void)convop_engine_wait_all(world.engine);
    check_world(&world, want, error);
    convop_engine_destroy(&world.engine);
    assert_int_equal(cvp_alloc_live(), live);
}

static void check_graphs(int percent_fail)
{
    struct rng random = {test_seed((uint64_t)time(NULL))};
    for (int round = 0; round < 2; round++) {
        struct world want = {{0}, NULL, {0}};
        int error[NUM_VARS];
        make_graph(&random, percent_fail);
        run_plainly(&want, error);
        run_on_engine(CONVOP_ENGINE_NAIVE, 0, &want, error);
        for (int workers = 1; workers <= 8; workers *= 2) {
            run_on_engine(CONVOP_ENGINE_THREADED, workers, &want, error);
        }
    }
}

static void values(void **state)
{
    (void)state;
    check_graphs(0);
}

static void values_and_errors(void **state)
{
    (void)state;
    check_graphs(5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(values_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
