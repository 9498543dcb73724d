/* Inference in tests: parameters as one text, shapes as lists. Include cmocka.h first. */
#ifndef TESTS_OPS_INFER_H
#define TESTS_OPS_INFER_H

#include "tests/ops/ops.h"

#define OP_UNKNOWN ((convop_shape){.ndim = -1})
/* OP_SHAPE(4, -1, 3) */
#define OP_SHAPE(...)                                                                              \
    op_shape((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static inline convop_shape op_shape(int ndim, const int64_t *dim)
{
    convop_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++) s.dim[i] = dim[i];
    return s;
}

/* params: "kernel=(2,2);pad=(1,1)" */
static inline convop_status op_infer(const char *name, const char *params, int num_in,
                                     convop_shape *in, int num_out, convop_shape *out)
{
    char text[400], *rest = text, *pair;
    const char *keys[OP_MOST], *values[OP_MOST];
    _Alignas(16) char typed[1024];
    size_t n = 0;
    snprintf(text, sizeof text, "%s", params);
    while ((pair = strtok_r(NULL, ";", &rest)) && n < OP_MOST) {
        char *equals = strchr(pair, '=');
        *equals = '\0';
        keys[n] = pair;
        values[n++] = equals + 1;
    }
    const convop_op *op;
    convop_status status = convop_op_find(name, &op);
    if (status != CONVOP_OK) return status;
    status = convop_params_parse(op, n, keys, values, typed, sizeof typed);
    if (status == CONVOP_OK) status = convop_infer(op, typed, num_in, in, num_out, out, NULL, NULL);
    convop_op_release(&op);
    return status;
}

#define expect_shape(got, ...)                                                                     \
    do {                                                                                           \
        const convop_shape g_ = (got), w_ = OP_SHAPE(__VA_ARGS__);                                 \
        assert_int_equal(g_.ndim, w_.ndim);                                                        \
        for (int i_ = 0; i_ < w_.ndim; i_++) assert_int_equal(g_.dim[i_], w_.dim[i_]);             \
    } while (0)

#endif
