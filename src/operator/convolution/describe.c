/* The canonical problem as text: for lines of log, keys of the tuning cache and error sentences. */
#include "src/common/text.h"
#include "src/operator/convolution/params.h"
#include "src/operator/convolution/problem.h"

/* What an axis has, in the order in which it is written; dilation from 0. */
enum { INPUT, OUTPUT, KERNEL, STRIDE, PADDING, DILATION, MEMBERS };

struct axes {
    int64_t at[MEMBERS][3]; /* depth, height, width */
};

static int is_same(const struct axes *x, int a, int b)
{
    int differs = 0;
    for (int m = 0; m < MEMBERS; m++) differs |= x->at[m][a] != x->at[m][b];
    return !differs;
}

/* The padding that a reader takes where none is written: half of what the output needs. */
static int64_t implied_padding(const struct axes *x, int a)
{
    int64_t need = (x->at[OUTPUT][a] - 1) * x->at[STRIDE][a] +
                   (x->at[DILATION][a] + 1) * (x->at[KERNEL][a] - 1) + 1 - x->at[INPUT][a];
    return need > 0 ? need / 2 : 0;
}

/* What a reader takes where nothing is written. */
static int is_implied(const struct axes *x, int m, int a)
{
    const int64_t value = x->at[m][a];
    switch (m) {
    case STRIDE: return value == 1;
    case PADDING: return value == 0 && implied_padding(x, a) == 0;
    case DILATION: return value == 0;
    default: return 0;
    }
}

/* An axis that equals the one before it is left out, any other is written so that nothing of it is
 * taken from there. */
void cvp_conv_problem_put_sizes(struct cvp_text *t, const convop_conv_problem *p)
{
    const struct axes x = {{{p->id, p->ih, p->iw},
                            {p->od, p->oh, p->ow},
                            {p->kd, p->kh, p->kw},
                            {p->sd, p->sh, p->sw},
                            {p->pd, p->ph, p->pw},
                            {p->dd - 1, p->dh - 1, p->dw - 1}}};
    const int first = 3 - p->axes;
    if (p->g != 1) cvp_text_put_number(t, "g", p->g);
    cvp_text_put_number(t, "mb", p->mb);
    cvp_text_put_number(t, "ic", p->ic);
    for (int m = 0; m < MEMBERS; m++) {
        if (m == OUTPUT) cvp_text_put_number(t, "oc", p->oc);
        for (int a = first; a < 3; a++) {
            const char name[] = {"iokspd"[m], "dhw"[a], '\0'};
            if ((a > first && is_same(&x, a, a - 1)) || is_implied(&x, m, a)) continue;
            cvp_text_put_number(t, name, x.at[m][a]);
        }
    }
}

static const char *dtype_name(DLDataType t)
{
    if (t.code == kDLBfloat) return "bf16";
    return t.bits == 64 ? "f64" : t.bits == 32 ? "f32" : "f16";
}

static void put_tensors(struct cvp_text *t, const convop_conv_problem *p)
{
    static const char *const names[2][3] = {{"ncw", "nchw", "ncdhw"}, {"nwc", "nhwc", "ndhwc"}};
    cvp_text_put(t, dtype_name(p->dtype));
    cvp_text_put(t, ":");
    cvp_text_put(t, names[p->channels_last][p->axes - 1]);
}

/* Strides of axes that have more than one element; those of others mean nothing. */
static void add_strides(struct cvp_text *t, const char *name, const convop_conv_strides *s,
                        const int64_t sizes[5])
{
    const int64_t at[5] = {s->n, s->c, s->d, s->h, s->w};
    cvp_text_put(t, name);
    for (int i = 0; i < 5; i++) {
        if (i > 0) cvp_text_put(t, ":");
        if (sizes[i] > 1) cvp_text_put_number(t, "", at[i]);
    }
}

/* What the others do not say, each with a plus; "-" if there is nothing. */
static void put_rest(struct cvp_text *t, const convop_conv_problem *p)
{
    const size_t before = t->need;
    if (p->add) cvp_text_put(t, "+add");
    if (p->residual) cvp_text_put(t, "+residual");
    if (p->activation) {
        cvp_text_put(t, "+");
        cvp_text_put(t, cvp_conv_activation_name(p->activation));
    }
    if (!p->dense) {
        add_strides(t, "+src=", &p->src, (int64_t[]){p->mb, p->ic, p->id, p->ih, p->iw});
        add_strides(t, "+weights=", &p->weights,
                    (int64_t[]){p->oc, p->ic / p->g, p->kd, p->kh, p->kw});
        add_strides(t, "+dst=", &p->dst, (int64_t[]){p->mb, p->oc, p->od, p->oh, p->ow});
        if (p->residual)
            add_strides(t, "+residual=", &p->residual_strides,
                        (int64_t[]){p->mb, p->oc, p->od, p->oh, p->ow});
    }
    if ((p->bias || p->direction == CONVOP_BWD_B) && p->bias_stride != 1 && p->oc > 1)
        cvp_text_put_number(t, "+bias=", p->bias_stride);
    if (p->depthwise_conv_off) cvp_text_put(t, "+depthwise_conv_off");
    if (p->cudnn_off) cvp_text_put(t, "+cudnn_off");
    if (t->need == before) cvp_text_put(t, "-");
}

void cvp_conv_problem_put(struct cvp_text *t, const convop_conv_problem *p)
{
    put_tensors(t, p);
    cvp_text_put(t, ",");
    cvp_conv_problem_put_sizes(t, p);
    cvp_text_put(t, ",");
    put_rest(t, p);
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
