/* DLPack: tensors of a producer in convolutions, and how long its memory must live. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/cases/compare.h"
#include "tests/cases/dlpack.h"
#include "tests/support/engine.h"

/* ---- used by convolutions -------------------------------------------------------------------- */

/* A 1x1 convolution of what was imported, as a (1,1,2,3) image; empty ones as they are. */
static convop_status convolve(const convop_array *array, float out[6])
{
    static float weight = 2;
    int64_t image[] = {1, 1, 2, 3}, one[] = {1, 1, 1, 1}, empty_one[] = {1, 3, 1, 1};
    int64_t empty_out[] = {0, 1, 4, 4};
    DLTensor src = *convop_array_view(array), weights = src, dst = src;
    int is_empty = src.ndim == 4;
    src.strides = dst.strides = weights.strides = NULL;
    if (!is_empty) src.ndim = 4, src.shape = image;
    weights.data = &weight;
    weights.ndim = dst.ndim = 4;
    weights.shape = is_empty ? empty_one : one;
    weights.byte_offset = dst.byte_offset = 0;
    static float weight3[3] = {1, 1, 1};
    if (is_empty) weights.data = weight3;
    dst.shape = is_empty ? empty_out : image;
    dst.data = is_empty ? NULL : out;
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(1, 1);
    p.num_filter = 1;
    p.no_bias = 1;
    return conv_forward(&p, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL);
}

static void used_by_convolution(const struct test_case *c)
{
    struct producer_log log;
    float out[6], before[64];
    convop_array *array = dlpack_imported(c, &log);
    memcpy(before, dlpack_samples, sizeof before);
    expect_ok(convolve(array, out));
    assert_memory_equal(before, dlpack_samples, sizeof before);
    if (convop_array_view(array)->ndim == 2)
        for (int i = 0; i < 6; i++) assert_true(out[i] == 2 * dlpack_samples[i]);
    dlpack_released(array, &log);
}

/* CPU and GPU tensors in one call are refused before anything is touched. */
static void mixed_devices(const struct test_case *c)
{
    int64_t image[] = {1, 1, 2, 3}, one[] = {1, 1, 1, 1};
    float out[6] = {7, 7, 7, 7, 7, 7};
    producer_fill();
    DLTensor src = {dlpack_samples, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, image, NULL, 0};
    DLTensor weights = src, dst = src;
    weights.device.device_type = kDLCUDA;
    weights.shape = one;
    dst.data = out;
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(1, 1);
    p.num_filter = 1;
    p.no_bias = 1;
    assert_int_not_equal(conv_forward(&p, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL),
                         CONVOP_OK);
    compare_mention(c, convop_last_error());
    for (int i = 0; i < 6; i++) assert_true(out[i] == 7);
    assert_true(library_is_usable());
}

/* ---- lifetime -------------------------------------------------------------------------------- */

struct use {
    convop_array *array;
    struct producer_log *log;
    float out[6];
    int deleted_before;
};

static convop_status use_run(void *user)
{
    struct use *use = user;
    sleep_ms(5);
    convop_status status = convolve(use->array, use->out);
    use->deleted_before = use->log->deleted;
    return status;
}

static void use_end(void *user)
{
    convop_array_release(&((struct use *)user)->array);
}

/* Three queued convolutions hold the array; the last of them to end drops it, in a worker. */
static void deleter_once(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = dlpack_imported(c, &log);
    convop_engine_options options = CONVOP_ENGINE_OPTIONS_INIT;
    options.kind = CONVOP_ENGINE_THREADED;
    options.num_workers = 2;
    convop_engine *engine = NULL;
    expect_ok(convop_engine_create(&options, &engine));
    struct use uses[3];
    for (int i = 0; i < 3; i++) {
        uses[i] = (struct use){.array = convop_array_retain(array), .log = &log};
        convop_task task = CONVOP_TASK_INIT;
        task.run = use_run;
        task.destroy = use_end;
        task.user = &uses[i];
        expect_ok(convop_engine_push(engine, &task));
    }
    convop_array_release(&array);
    expect_ok(convop_engine_wait_all(engine));
    convop_engine_destroy(&engine);
    assert_int_equal(log.deleted, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(uses[i].deleted_before, 0);
        for (int k = 0; k < 6; k++) assert_true(uses[i].out[k] == 2 * (float)k);
    }
}

static void calling_deleter(DLManagedTensor *self)
{
    atomic_int *count = self->manager_ctx;
    convop_trim();
    convop_set("verbose", NULL);
    if (library_is_usable()) atomic_fetch_add(count, 1);
    free(self);
}

static void *release_it(void *arg)
{
    convop_array *array = arg;
    convop_array_release(&array);
    return NULL;
}

/* The deleter may run on any thread, holds no lock of the library and may call it. */
static void deleter_may_call(const struct test_case *c)
{
    (void)c;
    atomic_int count = 0;
    static int64_t shape[] = {2, 3};
    DLManagedTensor *m = calloc(1, sizeof *m);
    m->dl_tensor = (DLTensor){dlpack_samples, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    m->manager_ctx = &count;
    m->deleter = calling_deleter;
    convop_array *array = NULL;
    expect_ok(convop_from_dlpack(m, &array));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_it, array), 0);
    pthread_join(thread, NULL);
    assert_int_equal(count, 1);
}

/* A failed import leaves the tensor with its caller: `import` checks that nothing was called. */
static void not_on_failure(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array;
    assert_int_not_equal(dlpack_import(c, &log, &array), CONVOP_OK);
    assert_int_equal(log.deleted, 1); /* by us */
}

/* Two structs over one memory are two arrays that know nothing of each other. */
static void two_imports(const struct test_case *c)
{
    struct producer_log first_log, second_log;
    convop_array *first = dlpack_imported(c, &first_log), *second = dlpack_imported(c, &second_log);
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(first, &t));
    ((float *)t->data)[0] = 5;
    assert_true(producer_at(second, 0, 0, 0) == 5);
    dlpack_released(first, &first_log);
    float out[6];
    expect_ok(convolve(second, out));
    assert_true(out[0] == 10);
    dlpack_released(second, &second_log);
}

static void needs_gpu(const struct test_case *c)
{
    (void)c;
    skip_case("needs a GPU");
}

case_run run_lifetime_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"dl.null_data_zero_size", used_by_convolution},
        {"dl.mixed_devices", mixed_devices},
        {"dl.readonly_as_input", used_by_convolution},
        {"dl.deleter_once", deleter_once},
        {"dl.deleter_not_on_failure", not_on_failure},
        {"dl.deleter_other_thread", deleter_may_call},
        {"dl.import_twice", two_imports},
        {"dl.alias_write_order", two_imports},
        {"dl.stream_order", needs_gpu},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    return NULL;
}
