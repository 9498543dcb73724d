/* Activation and residual behind a sum that lies in dst. */
#include "src/operator/convolution/cpu/finish.h"

#include "src/operator/common.h"

/* What a line needs to know. */
struct finishing {
    int adds, clamps;
    double high;
};

/* Steps of 1 apart, for the vectoriser. */
#define EACH(condition, statement_at)                                                              \
    do {                                                                                           \
        if (condition) {                                                                           \
            CVP_INDEPENDENT                                                                        \
            for (int64_t i = 0; i < n; i++) statement_at(i, i);                                    \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) statement_at(i *step[0], i *step[1]);                  \
        }                                                                                          \
    } while (0)
#define ADD(i, j)   (y[i] += r[j])
#define CLAMP(i, j) (y[i] = CVP_CLAMP(y[i], high))

#define DEFINE(T, name)                                                                            \
    static void name(void *arg, int64_t n, void *const *at, const int64_t *step)                   \
    {                                                                                              \
        const struct finishing *f = arg;                                                           \
        const T high = (T)f->high;                                                                 \
        T *y = at[0];                                                                              \
        if (f->adds) {                                                                             \
            const T *r = at[1];                                                                    \
            EACH(step[0] == 1 && step[1] == 1, ADD);                                               \
        }                                                                                          \
        if (f->clamps) EACH(step[0] == 1, CLAMP);                                                  \
    }

DEFINE(float, finish_f32)
DEFINE(double, finish_f64)

static struct finishing finishing_of(const convop_conv_problem *p, const void *residual)
{
    return (struct finishing){residual != NULL, p->activation != CONVOP_ACTIVATION_NONE,
                              cvp_conv_high(p)};
}

static cvp_line_body *body_of(const convop_conv_problem *p)
{
    return p->dtype.bits == 64 ? finish_f64 : finish_f32;
}

void cvp_conv_finish_line(const convop_conv_problem *p, int64_t n, void *dst, const void *residual)
{
    struct finishing f = finishing_of(p, residual);
    body_of(p)(&f, n, (void *[]){dst, (void *)(uintptr_t)residual}, (int64_t[]){1, 1});
}

void cvp_conv_finish(const convop_conv_problem *p, void *dst, const void *residual,
                     const convop_context *context)
{
    const convop_conv_strides *s = &p->dst, *r = &p->residual_strides;
    int64_t sizes[] = {p->mb, p->oc, p->od, p->oh, p->ow};
    int64_t strides[] = {s->n, s->c, s->d, s->h, s->w};
    int64_t residual_strides[] = {r->n, r->c, r->d, r->h, r->w};
    const DLTensor y = {.data = dst,
                        .device = {kDLCPU, 0},
                        .ndim = 5,
                        .dtype = p->dtype,
                        .shape = sizes,
                        .strides = strides};
    DLTensor x = y;
    x.data = (void *)(uintptr_t)residual;
    x.strides = residual_strides;
    struct finishing f = finishing_of(p, residual);
    cvp_elementwise(context, f.adds ? 2 : 1, (const DLTensor *const[]){&y, &x}, body_of(p), &f);
}

int cvp_conv_fuses_all(const convop_conv_problem *p)
{
    (void)p;
    return 1;
}
