/* DLPack: what a producer's struct may say, and how long its memory must live. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "src/common/alloc.h"
#include "tests/cases/compare.h"
#include "tests/cases/run.h"
#include "tests/support/engine.h"
#include "tests/support/guard.h"
#include "tests/support/producer.h"

static int64_t shape_of[16], strides_of[16];

/* The tensor that a case's "dl" describes. */
static struct producer_tensor described(const json_t *dl)
{
    int64_t device[2], dtype[3];
    struct producer_tensor t = producer_plain();
    producer_fill();
    json_ints(json_object_get(dl, "device"), device, 2);
    json_ints(json_object_get(dl, "dtype"), dtype, 3);
    t.device = (DLDevice){(DLDeviceType)device[0], (int32_t)device[1]};
    t.dtype = (DLDataType){(uint8_t)dtype[0], (uint8_t)dtype[1], (uint16_t)dtype[2]};
    t.ndim = json_ints(json_object_get(dl, "shape"), shape_of, 16);
    t.shape = t.ndim > 0 ? shape_of : NULL;
    t.strides = json_ints(json_object_get(dl, "strides"), strides_of, 16) > 0 ? strides_of : NULL;
    const json_t *ndim = json_object_get(dl, "ndim"), *data = json_object_get(dl, "data");
    if (ndim != NULL) t.ndim = (int)json_integer_value(ndim);
    if (strcmp(json_string_value(data), "null") == 0) t.data = NULL;
    t.byte_offset = (uint64_t)json_integer_value(json_object_get(dl, "byte_offset"));
    return t;
}

/* An import of it as the case has it, of the old struct or of the new one; what is not taken over
 * is deleted. */
static convop_status import(const struct test_case *c, struct producer_log *log,
                            convop_array **array)
{
    const json_t *dl = json_object_get(c->params, "dl");
    struct producer_tensor t = described(dl);
    int64_t version[2];
    atomic_store(&log->deleted, 0);
    *array = NULL;
    if (json_ints(json_object_get(dl, "version"), version, 2) == 2) {
        uint64_t flags = (uint64_t)json_integer_value(json_object_get(dl, "flags"));
        struct DLManagedTensorVersioned *m =
            producer_make_versioned(&t, log, (unsigned)version[0], (unsigned)version[1], flags);
        convop_status status = convop_from_dlpack_versioned(m, array);
        assert_int_equal(log->deleted, 0);
        if (status != CONVOP_OK) m->deleter(m);
        return status;
    }
    DLManagedTensor *m = producer_make(&t, log);
    convop_status status = convop_from_dlpack(m, array);
    assert_int_equal(log->deleted, 0);
    if (status != CONVOP_OK) m->deleter(m);
    return status;
}

static convop_array *imported(const struct test_case *c, struct producer_log *log)
{
    convop_array *array;
    if (import(c, log, &array) != CONVOP_OK) fail_msg("refused: %s", convop_last_error());
    return array;
}

static void released(convop_array *array, struct producer_log *log)
{
    assert_int_equal(log->deleted, 0);
    convop_array_release(&array);
    assert_int_equal(log->deleted, 1);
}

static void refused(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array;
    uint64_t live = cvp_alloc_live();
    if (import(c, &log, &array) == CONVOP_OK) fail_msg("accepted");
    assert_null(array);
    compare_mention(c, convop_last_error());
    assert_int_equal(cvp_alloc_live(), live);
    assert_true(library_is_usable());
}

/* Accepted, and its elements are found by strides as the producer meant them. */
static void read_right(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    const DLTensor *t = convop_array_view(array);
    const float *memory = producer_samples;
    for (int64_t i = 0; i < (t->ndim > 0 ? t->shape[0] : 1); i++)
        for (int64_t j = 0; j < (t->ndim > 1 ? t->shape[1] : 1); j++) {
            int64_t at = t->ndim == 0        ? 0
                         : strides_of[0] > 0 ? i * strides_of[0] + j * strides_of[1]
                                             : i * t->shape[1] + j;
            if (t->dtype.bits == 32) assert_true(producer_at(array, i, j, 0) == memory[at]);
        }
    released(array, &log);
}

static void null_strides(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    const DLTensor *t = convop_array_view(array);
    assert_int_equal(t->strides[0], 3);
    assert_int_equal(t->strides[1], 1);
    released(array, &log);
    strides_of[0] = 3, strides_of[1] = 1;
    read_right(c);
}

/* Nothing is read behind the last element: there lies a forbidden page. */
static void strides_count_elements(const struct test_case *c)
{
    (void)c;
    struct guard memory = guard_create(6 * sizeof(double), 1);
    for (int i = 0; i < 6; i++) ((double *)memory.data)[i] = i;
    struct producer_tensor t = producer_plain();
    struct producer_log log = {0};
    t.dtype.bits = 64;
    t.data = memory.data;
    DLManagedTensor *m = producer_make(&t, &log);
    convop_array *array = NULL;
    expect_ok(convop_from_dlpack(m, &array));
    const DLTensor *view = convop_array_view(array);
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            sum += ((const double *)view->data)[i * view->strides[0] + j * view->strides[1]];
    assert_true(sum == 15);
    released(array, &log);
    guard_destroy(&memory);
}

/* Accepted, or refused by the name of what is not here. */
static void accepted_or_named(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array;
    if (import(c, &log, &array) == CONVOP_OK)
        released(array, &log);
    else
        assert_non_null(strstr(convop_last_error(), "device"));
}

static void type_is_kept(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    assert_int_equal(convop_array_view(array)->dtype.code, kDLBfloat);
    released(array, &log);
}

static void written_through(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(array, &t));
    ((float *)t->data)[t->strides[0] + 2 * t->strides[1]] = 99;
    assert_true(producer_samples[5] == 99);
    released(array, &log);
}

/* Not as an output, and not as a gradient: the one way to a writable view refuses it. */
static void no_output(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    DLTensor *t = NULL;
    assert_int_equal(convop_array_writable(array, &t), CONVOP_E_INVALID);
    assert_null(t);
    compare_mention(c, convop_last_error());
    released(array, &log);
}

static void keeps_read_only(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    struct DLManagedTensorVersioned *out = NULL;
    DLManagedTensor *old = NULL;
    expect_ok(convop_to_dlpack_versioned(array, &out));
    assert_true(out->flags & 1);
    assert_int_equal(convop_to_dlpack(array, &old), CONVOP_E_INVALID);
    assert_null(old);
    out->deleter(out);
    released(array, &log);
}

static void exported(const struct test_case *c)
{
    struct producer_log log;
    convop_array *array = imported(c, &log);
    DLManagedTensor *out = NULL;
    expect_ok(convop_to_dlpack(array, &out));
    const DLTensor *t = &out->dl_tensor;
    if (t->ndim == 0) {
        assert_null(t->shape);
        assert_null(t->strides);
    } else {
        assert_int_equal(t->strides[0], 77);
        assert_int_equal(t->strides[1], 1);
    }
    convop_array_release(&array);
    assert_int_equal(log.deleted, 0);
    out->deleter(out);
    assert_int_equal(log.deleted, 1);
}

static void export_outlives_source(const struct test_case *c)
{
    (void)c;
    int64_t shape[] = {2, 3};
    convop_array *array = NULL;
    DLManagedTensor *out = NULL;
    uint64_t live = cvp_alloc_live();
    expect_ok(convop_array_create(NULL, (DLDataType){kDLFloat, 32, 1}, 2, shape, &array));
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(array, &t));
    for (int i = 0; i < 6; i++) ((float *)t->data)[i] = (float)i;
    expect_ok(convop_to_dlpack(array, &out));
    convop_array_release(&array);
    for (int i = 0; i < 10; i++) {
        void *churn = malloc(1 << 20);
        memset(churn, 0xee, 1 << 20);
        free(churn);
        convop_array *other = NULL;
        expect_ok(convop_array_create(NULL, (DLDataType){kDLFloat, 32, 1}, 2, shape, &other));
        convop_array_release(&other);
    }
    for (int i = 0; i < 6; i++) assert_true(((float *)out->dl_tensor.data)[i] == (float)i);
    out->deleter(out);
    assert_int_equal(cvp_alloc_live(), live);
}

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
    convop_array *array = imported(c, &log);
    memcpy(before, producer_samples, sizeof before);
    expect_ok(convolve(array, out));
    assert_memory_equal(before, producer_samples, sizeof before);
    if (convop_array_view(array)->ndim == 2)
        for (int i = 0; i < 6; i++) assert_true(out[i] == 2 * producer_samples[i]);
    released(array, &log);
}

/* CPU and GPU tensors in one call are refused before anything is touched. */
static void mixed_devices(const struct test_case *c)
{
    int64_t image[] = {1, 1, 2, 3}, one[] = {1, 1, 1, 1};
    float out[6] = {7, 7, 7, 7, 7, 7};
    producer_fill();
    DLTensor src = {producer_samples, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, image, NULL, 0};
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
    convop_array *array = imported(c, &log);
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
    m->dl_tensor = (DLTensor){producer_samples, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
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
    assert_int_not_equal(import(c, &log, &array), CONVOP_OK);
    assert_int_equal(log.deleted, 1); /* by us */
}

/* Two structs over one memory are two arrays that know nothing of each other. */
static void two_imports(const struct test_case *c)
{
    struct producer_log first_log, second_log;
    convop_array *first = imported(c, &first_log), *second = imported(c, &second_log);
    DLTensor *t = NULL;
    expect_ok(convop_array_writable(first, &t));
    ((float *)t->data)[0] = 5;
    assert_true(producer_at(second, 0, 0, 0) == 5);
    released(first, &first_log);
    float out[6];
    expect_ok(convolve(second, out));
    assert_true(out[0] == 10);
    released(second, &second_log);
}

static void needs_gpu(const struct test_case *c)
{
    (void)c;
    skip_case("needs a GPU");
}

case_run run_dlpack_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"dl.null_data_zero_size", used_by_convolution},
        {"dl.strides_null", null_strides},
        {"dl.zero_dim", read_right},
        {"dl.export_strides_nonnull", exported},
        {"dl.export_zero_dim", exported},
        {"dl.size1_strides", read_right},
        {"dl.strides_are_elements", strides_count_elements},
        {"dl.device_managed", accepted_or_named},
        {"dl.mixed_devices", mixed_devices},
        {"dl.bf16", type_is_kept},
        {"dl.readonly_as_input", used_by_convolution},
        {"dl.readonly_as_output", no_output},
        {"dl.writable_versioned", written_through},
        {"dl.unversioned_policy", written_through},
        {"dl.export_keeps_readonly", keeps_read_only},
        {"dl.deleter_once", deleter_once},
        {"dl.deleter_not_on_failure", not_on_failure},
        {"dl.deleter_other_thread", deleter_may_call},
        {"dl.deleter_frees_self", read_right},
        {"dl.export_outlives_source", export_outlives_source},
        {"dl.import_twice", two_imports},
        {"dl.alias_write_order", two_imports},
        {"dl.stream_order", needs_gpu},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    if (strcmp(c->op, "dlpack_import") == 0 && strcmp(c->expect, "error") == 0) return refused;
    return NULL;
}
