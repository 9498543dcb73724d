/* Loops of elementwise operators, for both types. */
#include "src/operator/elementwise/lines.h"

#include "src/common/tensor.h"

/* One loop over `count` elements of y (step ys), a and b; steps of 1 apart, for the vectoriser. */
#define LOOP(statement)                                                                            \
    do {                                                                                           \
        if (ys == 1 && as == 1 && bs == 1) {                                                       \
            CVP_INDEPENDENT                                                                        \
            for (int64_t i = 0; i < count; i++) statement(y[i], a[i], b[i]);                       \
        } else {                                                                                   \
            CVP_INDEPENDENT                                                                        \
            for (int64_t i = 0; i < count; i++) statement(y[i * ys], a[i * as], b[i * bs]);        \
        }                                                                                          \
    } while (0)
#define SUM(y, a, b)      (y = a + b)
#define ADD_SUM(y, a, b)  (y += a + b)
#define COPY(y, a, b)     (y = a)
#define ADD_COPY(y, a, b) (y += a)

#define DEFINE(T, sum, copy)                                                                       \
    static void sum(void *arg, int64_t count, void *const *at, const int64_t *step)                \
    {                                                                                              \
        T *y = at[0];                                                                              \
        const T *a = at[1], *b = at[2];                                                            \
        const int64_t ys = step[0], as = step[1], bs = step[2];                                    \
        if (*(const convop_request *)arg == CONVOP_REQ_ADD)                                        \
            LOOP(ADD_SUM);                                                                         \
        else                                                                                       \
            LOOP(SUM);                                                                             \
    }                                                                                              \
    static void copy(void *arg, int64_t count, void *const *at, const int64_t *step)               \
    {                                                                                              \
        T *y = at[0];                                                                              \
        const T *a = at[1];                                                                        \
        const int64_t ys = step[0], as = step[1], bs = 1;                                          \
        if (*(const convop_request *)arg == CONVOP_REQ_ADD)                                        \
            LOOP(ADD_COPY);                                                                        \
        else                                                                                       \
            LOOP(COPY);                                                                            \
    }

DEFINE(float, sum_f32, copy_f32)
DEFINE(double, sum_f64, copy_f64)

void cvp_lines_sum(const convop_context *context, const DLTensor *dst, const DLTensor *lhs,
                   const DLTensor *rhs, convop_request request)
{
    const DLTensor *tensors[] = {dst, lhs, rhs};
    cvp_elementwise(context, 3, tensors, dst->dtype.bits == 64 ? sum_f64 : sum_f32, &request);
}

void cvp_lines_copy(const convop_context *context, const DLTensor *dst, const DLTensor *src,
                    convop_request request)
{
    const DLTensor *tensors[] = {dst, src};
    if (request != CONVOP_REQ_ADD && cvp_tensor_data(dst) == cvp_tensor_data(src)) return;
    cvp_elementwise(context, 2, tensors, dst->dtype.bits == 64 ? copy_f64 : copy_f32, &request);
}
