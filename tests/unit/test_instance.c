/* Instances: create, reshape, run; constants; many threads on one instance; what is refused. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "convop/convop.h"
#include "src/common/alloc.h"

enum { MB = 3, IC = 6, OC = 8, H = 9, W = 7 };

struct tensors {
    int channels_last, bits;
    int64_t src_shape[4], weights_shape[4], bias_shape[1], dst_shape[4];
    DLTensor src, weights, bias, dst;
    char memory[4][1 << 14];
};

static DLTensor view(void *data, int64_t *shape, int ndim, int bits)
{
    DLTensor t = {.data = data, .ndim = ndim, .shape = shape};
    t.device.device_type = kDLCPU;
    t.dtype.code = kDLFloat;
    t.dtype.bits = (uint8_t)bits;
    t.dtype.lanes = 1;
    return t;
}

static void fill(const DLTensor *t, unsigned seed)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    for (int64_t i = 0; i < n; i++) {
        double v = (double)((unsigned)(i * 7 + seed) % 11) - 5;
        if (t->dtype.bits == 64)
            ((double *)t->data)[i] = v;
        else if (t->dtype.bits == 32)
            ((float *)t->data)[i] = (float)v;
        else /* float16: small integers by their bits */
            ((uint16_t *)t->data)[i] = (uint16_t)(v == 0 ? 0 : v < 0 ? 0xbc00 : 0x3c00);
    }
}

static void set(struct tensors *t, int mb, int channels_last, int bits)
{
    memset(t, 0, sizeof *t);
    const int64_t first[4][4] = {{mb, IC, H, W}, {OC, IC, 3, 3}, {mb, OC, H, W}, {0}};
    const int64_t last[4][4] = {{mb, H, W, IC}, {OC, 3, 3, IC}, {mb, H, W, OC}, {0}};
    const int64_t(*s)[4] = channels_last ? last : first;
    memcpy(t->src_shape, s[0], sizeof t->src_shape);
    memcpy(t->weights_shape, s[1], sizeof t->weights_shape);
    memcpy(t->dst_shape, s[2], sizeof t->dst_shape);
    t->bias_shape[0] = OC;
    t->src = view(t->memory[0], t->src_shape, 4, bits);
    t->weights = view(t->memory[1], t->weights_shape, 4, bits);
    t->bias = view(t->memory[2], t->bias_shape, 1, bits);
    t->dst = view(t->memory[3], t->dst_shape, 4, bits);
    fill(&t->src, 1);
    fill(&t->weights, 2);
    fill(&t->bias, 3);
}

static convop_conv_params params(int channels_last)
{
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel = convop_tuple2(3, 3);
    p.pad_begin = p.pad_end = convop_tuple2(1, 1);
    p.num_filter = OC;
    p.layout = channels_last ? CONVOP_LAYOUT_NHWC : CONVOP_LAYOUT_NCHW;
    return p;
}

static convop_instance *create(const struct tensors *t, int with_constants)
{
    convop_conv_params p = params(t->weights_shape[1] == 3);
    const DLTensor *constants[] = {NULL, &t->weights, &t->bias};
    convop_instance *x = NULL;
    assert_int_equal(convop_instance_create_typed("Convolution", &p, 3,
                                                  with_constants ? constants : NULL, NULL, &x),
                     CONVOP_OK);
    return x;
}

/* The same bits as conv_forward, with and without constants, for every layout and dtype. */
static void equals_the_one_call_form(void **state)
{
    (void)state;
    static struct tensors t, u;
    for (int bits = 16; bits <= 64; bits *= 2)
        for (int last = 0; last < 2; last++)
            for (int constants = 0; constants < 2; constants++) {
                set(&t, MB, last, bits);
                set(&u, MB, last, bits);
                convop_conv_params p = params(last);
                assert_int_equal(
                    conv_forward(&p, &t.src, &t.weights, &t.bias, &t.dst, CONVOP_REQ_WRITE, NULL),
                    CONVOP_OK);
                convop_instance *x = create(&u, constants);
                const DLTensor *in[] = {&u.src, &u.weights, &u.bias};
                DLTensor *out[] = {&u.dst};
                size_t bytes = 1;
                assert_int_equal(convop_instance_reshape(x, in, NULL, NULL, SIZE_MAX, &bytes),
                                 CONVOP_OK);
                convop_shape shape;
                DLDataType dtype;
                assert_int_equal(convop_instance_output(x, 0, &shape, &dtype), CONVOP_OK);
                assert_int_equal(shape.ndim, 4);
                assert_memory_equal(shape.dim, u.dst_shape, sizeof u.dst_shape);
                assert_int_equal(dtype.bits, bits);
                assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_OK);
                assert_memory_equal(t.memory[3], u.memory[3], sizeof t.memory[3]);

                /* With a workspace of the size that reshape said nothing is allocated. */
                char *scratch = malloc(bytes + 1);
                convop_exec e = CONVOP_EXEC_INIT;
                e.workspace = scratch + 1;
                e.workspace_bytes = bytes;
                memset(u.memory[3], 0x77, sizeof u.memory[3]);
                cvp_alloc_fail_at(1);
                assert_int_equal(convop_instance_run(x, in, out, &e), CONVOP_OK);
                assert_int_equal(cvp_alloc_calls(), 0);
                cvp_alloc_fail_at(0);
                assert_int_equal(
                    memcmp(t.memory[3], u.memory[3], (size_t)(MB * OC * H * W * bits / 8)), 0);
                free(scratch);
                convop_instance_destroy(&x);
                assert_null(x);
            }
}

static void other_batches(void **state)
{
    (void)state;
    static struct tensors t, u;
    set(&t, 1, 1, 32);
    convop_instance *x = create(&t, 1);
    for (int mb = 0; mb <= 4; mb++) {
        set(&u, mb, 1, 32);
        const DLTensor *in[] = {&u.src, NULL, NULL};
        DLTensor *out[] = {&u.dst};
        assert_int_equal(convop_instance_reshape(x, in, NULL, NULL, SIZE_MAX, NULL), CONVOP_OK);
        assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_OK);
        static struct tensors want;
        set(&want, mb, 1, 32);
        convop_conv_params p = params(1);
        assert_int_equal(conv_forward(&p, &want.src, &want.weights, &want.bias, &want.dst,
                                      CONVOP_REQ_WRITE, NULL),
                         CONVOP_OK);
        assert_memory_equal(want.memory[3], u.memory[3], sizeof u.memory[3]);
    }
    convop_instance_destroy(&x);
}

struct thread_job {
    const convop_instance *x;
    struct tensors t;
    int failed;
};

static void *run_many(void *arg)
{
    struct thread_job *job = arg;
    const DLTensor *in[] = {&job->t.src, NULL, NULL};
    DLTensor *out[] = {&job->t.dst};
    for (int i = 0; i < 100; i++) job->failed |= convop_instance_run(job->x, in, out, NULL) != 0;
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    static struct thread_job jobs[THREADS];
    static struct tensors t;
    set(&t, MB, 1, 32);
    convop_instance *x = create(&t, 1);
    const DLTensor *in[] = {&t.src, NULL, NULL};
    DLTensor *out[] = {&t.dst};
    assert_int_equal(convop_instance_reshape(x, in, NULL, NULL, SIZE_MAX, NULL), CONVOP_OK);
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_OK);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i].x = x;
        set(&jobs[i].t, MB, 1, 32);
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(jobs[i].failed);
        assert_memory_equal(jobs[i].t.memory[3], t.memory[3], sizeof t.memory[3]);
    }
    convop_instance_destroy(&x);
}

static void refusals(void **state)
{
    (void)state;
    static struct tensors t;
    set(&t, MB, 0, 32);
    convop_instance *x = NULL;
    const char *keys[] = {"kernel", "num_filter"}, *values[] = {"(3,3)", "0"};
    assert_int_equal(convop_instance_create("Convolution", 2, keys, values, 3, NULL, NULL, &x),
                     CONVOP_E_INVALID);
    assert_null(x);
    assert_int_equal(convop_instance_create("Convolutio", 0, NULL, NULL, 3, NULL, NULL, &x),
                     CONVOP_E_NOT_FOUND);
    convop_conv_params p = params(0);
    assert_int_equal(convop_instance_create_typed("Convolution", &p, 2, NULL, NULL, &x),
                     CONVOP_E_INVALID);
    assert_int_equal(convop_instance_create_typed("Convolution", &p, 3, NULL, NULL, NULL),
                     CONVOP_E_INVALID);

    x = create(&t, 1);
    const DLTensor *in[] = {&t.src, NULL, NULL};
    DLTensor *out[] = {&t.dst};
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_E_STATE);
    assert_int_equal(convop_instance_output(x, 0, NULL, NULL), CONVOP_E_STATE);
    t.src_shape[1] = IC + 1;
    assert_int_equal(convop_instance_reshape(x, in, NULL, NULL, SIZE_MAX, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_E_STATE);
    t.src_shape[1] = IC;
    assert_int_equal(convop_instance_reshape(x, in, out, NULL, SIZE_MAX, NULL), CONVOP_OK);
    assert_int_equal(convop_instance_reshape(x, in, out, NULL, SIZE_MAX, NULL), CONVOP_OK);
    assert_int_equal(convop_instance_output(x, 1, NULL, NULL), CONVOP_E_INVALID);
    t.src_shape[0] = MB - 1;
    t.dst_shape[0] = MB - 1;
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_E_INVALID);
    assert_non_null(strstr(convop_last_error(), "src"));
    t.src_shape[0] = t.dst_shape[0] = MB;
    in[0] = NULL;
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_E_INVALID);
    in[0] = &t.src;
    assert_int_equal(convop_instance_run(x, in, NULL, NULL), CONVOP_E_INVALID);
    assert_int_equal(convop_instance_run(x, in, out, NULL), CONVOP_OK);
    convop_instance_destroy(&x);
    convop_instance_destroy(&x);
    convop_instance_destroy(NULL);
}

static convop_status whole_life(struct tensors *t)
{
    convop_conv_params p = params(1);
    const DLTensor *constants[] = {NULL, &t->weights, &t->bias}, *in[] = {&t->src, NULL, NULL};
    DLTensor *out[] = {&t->dst};
    convop_instance *x = NULL;
    convop_status status = convop_instance_create_typed("Convolution", &p, 3, constants, NULL, &x);
    if (status == CONVOP_OK) status = convop_instance_reshape(x, in, NULL, NULL, SIZE_MAX, NULL);
    if (status == CONVOP_OK) status = convop_instance_run(x, in, out, NULL);
    convop_instance_destroy(&x);
    return status;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static struct tensors t;
    set(&t, MB, 1, 32);
    assert_int_equal(whole_life(&t), CONVOP_OK);
    uint64_t live = cvp_alloc_live();
    for (uint64_t n = 1;; n++) {
        cvp_alloc_fail_at(n);
        convop_status status = whole_life(&t);
        int reached = cvp_alloc_calls() >= n;
        cvp_alloc_fail_at(0);
        assert_int_equal(cvp_alloc_live(), live);
        if (!reached) break;
        assert_int_equal(status, CONVOP_E_NO_MEMORY);
        assert_int_equal(whole_life(&t), CONVOP_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_one_call_form),
        cmocka_unit_test(other_batches),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
