/* The oracle: each product of a filter element and an input element is visited once and added to
 * everything it belongs to. */
#include "tests/cases/oracle.h"

#include <math.h>
#include <stdlib.h>

#include "tests/cases/element.h"

struct sums {
    double *values[INPUTS];
    double *want[OUTPUTS], *magnitude[OUTPUTS];
};

/* Position of (image, channel, x) in a tensor of the layout. */
static int64_t position(const struct conv *v, int64_t image, int64_t channel, int64_t channels,
                        const int64_t sizes[3], const int64_t x[3])
{
    int64_t pixel = (x[0] * sizes[1] + x[1]) * sizes[2] + x[2];
    int64_t pixels = sizes[0] * sizes[1] * sizes[2];
    return v->channels_last ? (image * pixels + pixel) * channels + channel
                            : (image * channels + channel) * pixels + pixel;
}

static void add(struct sums *s, int output, int64_t at, double product)
{
    s->want[output][at] += product;
    s->magnitude[output][at] += fabs(product);
}

/* One output element, all taps of one input channel of its group. */
static void taps(const struct conv *v, struct sums *s, int64_t image, int64_t filter,
                 const int64_t y[3], int64_t channel)
{
    int64_t group_in = v->ic / v->g, group_out = v->oc / v->g, k[3];
    int64_t out = position(v, image, filter, v->oc, v->o, y);
    for (k[0] = 0; k[0] < v->k[0]; k[0]++)
        for (k[1] = 0; k[1] < v->k[1]; k[1]++)
            for (k[2] = 0; k[2] < v->k[2]; k[2]++) {
                int64_t x[3], inside = 1;
                for (int a = 0; a < 3; a++) {
                    x[a] = y[a] * v->s[a] + k[a] * v->d[a] - v->p[a];
                    inside &= x[a] >= 0 && x[a] < v->i[a];
                }
                if (!inside) continue;
                int64_t from =
                    position(v, image, filter / group_out * group_in + channel, v->ic, v->i, x);
                int64_t by = position(v, filter, channel, group_in, v->k, k);
                add(s, OUTPUT, out, s->values[DATA][from] * s->values[WEIGHT][by]);
                if (!v->backward) continue;
                add(s, DATA_GRAD, from, s->values[OUT_GRAD][out] * s->values[WEIGHT][by]);
                add(s, WEIGHT_GRAD, by, s->values[OUT_GRAD][out] * s->values[DATA][from]);
            }
}

static void visit(const struct conv *v, struct sums *s)
{
    int64_t y[3];
    for (int64_t image = 0; image < v->n; image++)
        for (int64_t filter = 0; filter < v->oc; filter++)
            for (y[0] = 0; y[0] < v->o[0]; y[0]++)
                for (y[1] = 0; y[1] < v->o[1]; y[1]++)
                    for (y[2] = 0; y[2] < v->o[2]; y[2]++) {
                        int64_t out = position(v, image, filter, v->oc, v->o, y);
                        if (v->has_bias) add(s, OUTPUT, out, s->values[BIAS][filter]);
                        if (v->backward) add(s, BIAS_GRAD, filter, s->values[OUT_GRAD][out]);
                        for (int64_t c = 0; c < v->ic / v->g; c++) taps(v, s, image, filter, y, c);
                    }
}

void oracle_compute(struct conv *v)
{
    struct sums s = {{NULL}, {NULL}, {NULL}};
    for (int i = 0; i < INPUTS; i++)
        if (v->in[i].memory.pages != NULL) s.values[i] = tensor_values(&v->in[i]);
    for (int i = 0; i < OUTPUTS; i++) {
        size_t count = (size_t)v->out[i].count + 1;
        s.want[i] = calloc(count, sizeof(double));
        s.magnitude[i] = calloc(count, sizeof(double));
        if (s.want[i] == NULL || s.magnitude[i] == NULL) abort();
        for (int64_t k = 0; v->req[i] == CONVOP_REQ_ADD && k < v->out[i].count; k++)
            add(&s, i, k, element_round(v->out[i].dl.dtype, v->prefill[i]));
    }
    visit(v, &s);
    for (int i = 0; i < OUTPUTS; i++) {
        for (int64_t k = 0; k < v->out[i].count; k++)
            s.want[i][k] = element_round(v->out[i].dl.dtype, s.want[i][k]);
        free(v->want[i]);
        free(v->magnitude[i]);
        v->want[i] = s.want[i];
        v->magnitude[i] = s.magnitude[i];
    }
    for (int i = 0; i < INPUTS; i++) free(s.values[i]);
}
