/* The canonical problem as text: for lines of log, keys of the tuning cache and error sentences. */
#include "src/common/size.h"
#include "src/common/text.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/problem.h"

/* One axis: input, output, kernel, stride, padding at the begin, dilation from 0. */
struct axis {
    int64_t i, o, k, s, p, d;
};

static int is_same(const struct axis *a, const struct axis *b)
{
    return a->i == b->i && a->o == b->o && a->k == b->k && a->s == b->s && a->p == b->p &&
           a->d == b->d;
}

/* The padding that a reader takes where none is written: half of what the output needs. */
static int64_t implied_padding(const struct axis *a)
{
    int64_t need = (a->o - 1) * a->s + a->d * (a->k - 1) + a->k - a->i;
    return need > 0 ? need / 2 : 0;
}

static void add_key(struct cvp_text *t, char key, char axis, int64_t value)
{
    const char name[] = {key, axis, '\0'};
    cvp_text_put(t, name);
    cvp_text_put_int(t, value);
}

/* An axis that equals the one before it is left out, any other is written so that nothing of it is
 * taken from there. */
void cvp_conv_problem_describe(const convop_conv_problem *p, char *text, size_t size)
{
    static const char letters[] = "dhw";
    const struct axis axis[3] = {{p->id, p->od, p->kd, p->sd, p->pd, p->dd - 1},
                                 {p->ih, p->oh, p->kh, p->sh, p->ph, p->dh - 1},
                                 {p->iw, p->ow, p->kw, p->sw, p->pw, p->dw - 1}};
    const int first = 3 - p->axes;
    int written[3];
    for (int a = 0; a < 3; a++)
        written[a] = a == first || (a > first && !is_same(&axis[a], &axis[a - 1]));
    struct cvp_text t = cvp_text_in(text, size);
#define ADD(key, member, condition)                                                                \
    for (int a = first; a < 3; a++)                                                                \
        if (written[a] && (condition)) add_key(&t, key, letters[a], axis[a].member)
    if (p->g != 1) {
        cvp_text_put(&t, "g");
        cvp_text_put_int(&t, p->g);
    }
    cvp_text_put(&t, "mb");
    cvp_text_put_int(&t, p->mb);
    cvp_text_put(&t, "ic");
    cvp_text_put_int(&t, p->ic);
    ADD('i', i, 1);
    cvp_text_put(&t, "oc");
    cvp_text_put_int(&t, p->oc);
    ADD('o', o, 1);
    ADD('k', k, 1);
    ADD('s', s, axis[a].s != 1);
    ADD('p', p, axis[a].p != 0 || implied_padding(&axis[a]) != 0);
    ADD('d', d, axis[a].d != 0);
#undef ADD
}

static const char *dtype_name(DLDataType t)
{
    if (t.code == kDLBfloat) return "bf16";
    return t.bits == 64 ? "f64" : t.bits == 32 ? "f32" : "f16";
}

void cvp_conv_problem_describe_tensors(const convop_conv_problem *p, char *text, size_t size)
{
    static const char *const names[2][3] = {{"ncw", "nchw", "ncdhw"}, {"nwc", "nhwc", "ndhwc"}};
    struct cvp_text t = cvp_text_in(text, size);
    cvp_text_put(&t, dtype_name(p->dtype));
    cvp_text_put(&t, ":");
    cvp_text_put(&t, names[p->channels_last][p->axes - 1]);
}

/* Strides of axes that have more than one element; those of others mean nothing. */
static void add_strides(struct cvp_text *t, const char *name, const convop_conv_strides *s,
                        const int64_t sizes[5])
{
    const int64_t at[5] = {s->n, s->c, s->d, s->h, s->w};
    cvp_text_put(t, name);
    for (int i = 0; i < 5; i++) {
        if (i > 0) cvp_text_put(t, ":");
        if (sizes[i] > 1) cvp_text_put_int(t, at[i]);
    }
}

void cvp_conv_problem_describe_rest(const convop_conv_problem *p, char *text, size_t size)
{
    struct cvp_text t = cvp_text_in(text, size);
    if (p->add) cvp_text_put(&t, "+add");
    if (p->residual) cvp_text_put(&t, "+residual");
    if (p->activation) {
        cvp_text_put(&t, "+");
        cvp_text_put(&t, cvp_conv_activation_name(p->activation));
    }
    if (!p->dense) {
        add_strides(&t, "+src=", &p->src, (int64_t[]){p->mb, p->ic, p->id, p->ih, p->iw});
        add_strides(&t, "+weights=", &p->weights,
                    (int64_t[]){p->oc, p->ic / p->g, p->kd, p->kh, p->kw});
        add_strides(&t, "+dst=", &p->dst, (int64_t[]){p->mb, p->oc, p->od, p->oh, p->ow});
        if (p->residual)
            add_strides(&t, "+residual=", &p->residual_strides,
                        (int64_t[]){p->mb, p->oc, p->od, p->oh, p->ow});
    }
    if ((p->bias || p->direction == CONVOP_BWD_B) && p->bias_stride != 1 && p->oc > 1) {
        cvp_text_put(&t, "+bias=");
        cvp_text_put_int(&t, p->bias_stride);
    }
    if (p->depthwise_conv_off) cvp_text_put(&t, "+depthwise_conv_off");
    if (p->cudnn_off) cvp_text_put(&t, "+cudnn_off");
    if (!t.need) cvp_text_put(&t, "-");
}

const char *cvp_conv_direction_name(convop_conv_direction dir)
{
    switch (dir) {
    case CONVOP_FWD: return "FWD_D";
    case CONVOP_BWD_D: return "BWD_D";
    case CONVOP_BWD_W: return "BWD_W";
    case CONVOP_BWD_B: return "BWD_B";
    }
    return "unknown";
}

const char *cvp_conv_problem_direction(const convop_conv_problem *p)
{
    return p->bias ? "FWD_B" : cvp_conv_direction_name(p->direction);
}
