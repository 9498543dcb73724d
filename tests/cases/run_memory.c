/* Properties of requests, scratch memory and alignment. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "src/common/cpu.h"
#include "tests/cases/compare.h"
#include "tests/cases/element.h"
#include "tests/cases/run.h"

/* Scratch of the caller, against a forbidden page, `skew` bytes off. */
static convop_exec with_workspace(struct guard *memory, size_t bytes, size_t skew)
{
    *memory = guard_create(bytes + skew, 1);
    convop_exec exec = CONVOP_EXEC_INIT;
    exec.workspace = (char *)memory->data + skew;
    exec.workspace_bytes = bytes;
    return exec;
}

/* What the row of a direction that is chosen takes. */
static size_t needed(struct conv *v, int output)
{
    convop_conv_row rows[CONV_MAX_ROWS];
    size_t count = conv_rows(v, conv_direction(output), rows, CONV_MAX_ROWS), most = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].workspace_bytes > most) most = rows[i].workspace_bytes;
    return most;
}

/* Every limit from what is taken without one down to nothing, as the parameter and as the size of a
 * workspace of the caller. */
static void under_limits(struct conv *v, int output)
{
    size_t whole = needed(v, output);
    for (size_t limit = whole + 64;; limit /= 2) {
        struct guard memory;
        convop_exec exec = with_workspace(&memory, limit, limit % 3);
        v->params.workspace_bytes = limit;
        run_once(v, NULL, NULL);
        run_once(v, NULL, &exec);
        guard_destroy(&memory);
        if (limit == 0) break;
    }
    v->params.workspace_bytes = (size_t)1 << 30;
}

/* Gradients added three times over are three times the gradient. */
static void accumulated(struct conv *v, const convop_exec *exec)
{
    conv_reset(v);
    for (int k = 0; k < 3; k++) assert_int_equal(conv_call(v, exec), CONVOP_OK);
    for (int i = DATA_GRAD; i < OUTPUTS; i++)
        for (int64_t k = 0; k < v->out[i].count; k++)
            assert_true(tensor_get(&v->out[i], k) == 3 * v->want[i][k]);
}

static void add_three_times(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END); /* the prefill is 0, so one "add" is one "write" */
    run_all_ways(&v);
    accumulated(&v, NULL);
    for (size_t limit = needed(&v, DATA_GRAD) + needed(&v, WEIGHT_GRAD);; limit /= 2) {
        struct guard memory;
        convop_exec exec = with_workspace(&memory, limit, 0);
        accumulated(&v, &exec);
        guard_destroy(&memory);
        if (limit == 0) break;
    }
    conv_close(&v);
}

static void chunks(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END);
    run_all_ways(&v);
    under_limits(&v, WEIGHT_GRAD);
    v.req[DATA_GRAD] = CONVOP_REQ_WRITE;
    under_limits(&v, DATA_GRAD);
    conv_close(&v);
}

static void small_limit(const struct test_case *c)
{
    run_naive(c);
    struct conv v;
    conv_open(&v, c, AT_END);
    assert_int_equal(v.params.workspace_bytes, 64);
    under_limits(&v, OUTPUT);
    conv_close(&v);
}

/* Without a bias the third request is not read: behind the second lies a forbidden page. */
static void two_requests(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END);
    struct guard memory = guard_create(2 * sizeof(convop_request), 1);
    convop_request *req = memory.data;
    req[0] = req[1] = CONVOP_REQ_WRITE;
    assert_int_equal(conv_backward(&v.params, &v.in[OUT_GRAD].dl, &v.in[DATA].dl, &v.in[WEIGHT].dl,
                                   &v.out[DATA_GRAD].dl, &v.out[WEIGHT_GRAD].dl, NULL, req, NULL),
                     CONVOP_OK);
    compare_outputs(&v, NULL);
    guard_destroy(&memory);
    conv_close(&v);
}

/* ---- alignment ------------------------------------------------------------------------------- */

static void *kept_bytes(const struct tensor *t)
{
    void *copy = malloc((size_t)t->count * element_size(t->dl.dtype));
    if (copy == NULL) abort();
    memcpy(copy, (const char *)t->dl.data + t->dl.byte_offset,
           (size_t)t->count * element_size(t->dl.dtype));
    return copy;
}

/* The same tensor at another offset. */
static void shift(struct tensor *t, uint64_t offset)
{
    struct tensor moved;
    tensor_create(&moved, t->dl.dtype, t->dl.ndim, t->shape, NULL, offset, AT_BEGIN);
    for (int64_t i = 0; i < t->count; i++) tensor_set(&moved, i, tensor_get(t, i));
    tensor_destroy(t);
    *t = moved;
    t->dl.shape = t->shape;
}

static void every_offset(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_BEGIN);
    convop_conv_row rows[CONV_MAX_ROWS];
    size_t count = conv_rows(&v, CONVOP_FWD, rows, CONV_MAX_ROWS);
    const json_t *values = json_object_get(json_object_get(c->params, "sweep"), "values");
    struct tensor *operands[] = {&v.in[DATA], &v.in[WEIGHT], &v.in[BIAS], &v.out[OUTPUT]};
    for (size_t r = 0; r < count; r++) {
        if (!rows[r].applicable) continue;
        run_once(&v, rows[r].name, NULL);
        void *first = kept_bytes(&v.out[OUTPUT]);
        for (size_t k = 0; k < json_array_size(values); k++) {
            uint64_t offset = (uint64_t)json_integer_value(json_array_get(values, k));
            for (size_t i = 0; i < 5; i++) {
                struct guard memory;
                convop_exec exec = with_workspace(&memory, rows[r].workspace_bytes + 64, offset);
                if (i < 4) shift(operands[i], offset);
                run_once(&v, rows[r].name, i < 4 ? NULL : &exec);
                void *now = kept_bytes(&v.out[OUTPUT]);
                if (memcmp(first, now, (size_t)v.out[OUTPUT].count * 4) != 0)
                    fail_msg("row %s: other bits with operand %zu at offset %d", rows[r].name, i,
                             (int)offset);
                free(now);
                if (i < 4) shift(operands[i], 0);
                guard_destroy(&memory);
            }
        }
        free(first);
    }
    conv_close(&v);
}

/* ---- time ------------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIMES_SAY_NOTHING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TIMES_SAY_NOTHING 1
#endif
#endif

#ifndef TIMES_SAY_NOTHING
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_time(struct conv *v, const char *row)
{
    double best = 1e9;
    convop_set("impl", row);
    for (int i = 0; i < 15; i++) {
        double start = now();
        assert_int_equal(conv_call(v, NULL), CONVOP_OK);
        double time = now() - start;
        if (time < best) best = time;
    }
    convop_set("impl", NULL);
    return best;
}

/* Multiplications and additions a second that one core of this instruction set does at best, from
 * below: two units, 2 GHz. */
static double core_rate(void)
{
    enum cvp_isa isa;
    assert_int_equal(cvp_isa_in_use(&isa), CONVOP_OK);
    isa = cvp_isa_vectors(isa);
    return isa == CVP_ISA_AVX512 ? 128e9 : isa == CVP_ISA_AVX2 ? 64e9 : 16e9;
}
#endif

/* A large window does not end in the plain loops. */
static void no_fall_back(const struct test_case *c)
{
    struct conv v;
    conv_open(&v, c, AT_END);
    run_all_ways(&v);
    convop_conv_row rows[CONV_MAX_ROWS];
    size_t count = conv_rows(&v, CONVOP_FWD, rows, CONV_MAX_ROWS);
    for (size_t i = 0; i < count; i++)
        if (rows[i].chosen) assert_string_not_equal(rows[i].name, "reference");
#ifndef TIMES_SAY_NOTHING
    double flops = 2.0 * (double)v.out[OUTPUT].count * (double)(v.ic * v.k[1] * v.k[2]);
    double limit = 20 * flops / core_rate(), time = best_time(&v, NULL);
    if (time > limit) fail_msg("%.3g s, 20 times the best possible is %.3g s", time, limit);
#endif
    conv_close(&v);
}

/* ---- what needs a GPU ------------------------------------------------------------------------ */

static void needs_gpu(const struct test_case *c)
{
    (void)c;
    skip_case("needs a GPU");
}

static void needs_cudnn(const struct test_case *c)
{
    (void)c;
    skip_case("needs cuDNN, whose plans have a math type");
}

case_run run_memory_for(const struct test_case *c)
{
    static const struct named_run named[] = {
        {"req.add_three_times", add_three_times},
        {"req.write_chunked", chunks},
        {"req.bwd_no_bias_req_len2", two_requests},
        {"req.fwd_add", run_naive},
        {"ws.limit_below_one_image", small_limit},
        {"ws.cpu_no_scratch_blowup", no_fall_back},
        {"align.every_offset", every_offset},
        {"ws.odd_limit_partition", needs_gpu},
        {"lp.tf32_flag", needs_gpu},
        {"ws.find_math_type", needs_cudnn},
    };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strcmp(named[i].id, c->id) == 0) return named[i].run;
    return NULL;
}
