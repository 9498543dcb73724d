/* Random convolutions for tests. The oracle visits every (dst element, weight element, src element)
 * triple once and adds its product to all four results: it shares no idea with the library. */
#include "conv_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cases/element.h"

/* The tests' problems are small: without this none of them would ever meet a second thread. */
__attribute__((constructor)) static void let_all_work_be_parallel(void)
{
    (void)setenv("CONVOP_LIGHT_WORK", "0", 0);
}

static int64_t out_size(int64_t i, int64_t k, int64_t s, int64_t d, int64_t p0, int64_t p1)
{
    return (i + p0 + p1 - d * (k - 1) - 1) / s + 1;
}

static void set_params(struct conv_case *c, struct rng *r)
{
    static const int layouts[2][3] = {{CONVOP_LAYOUT_NCW, CONVOP_LAYOUT_NCHW, CONVOP_LAYOUT_NCDHW},
                                      {CONVOP_LAYOUT_NWC, CONVOP_LAYOUT_NHWC, CONVOP_LAYOUT_NDHWC}};
    convop_conv_params p = CONVOP_CONV_PARAMS_INIT;
    p.kernel.len = p.stride.len = p.dilate.len = p.pad_begin.len = p.pad_end.len = c->axes;
    for (int a = 0; a < c->axes; a++) {
        int from = 3 - c->axes + a;
        p.kernel.at[a] = c->k[from];
        p.stride.at[a] = c->s[from];
        p.dilate.at[a] = c->d[from];
        p.pad_begin.at[a] = c->p0[from];
        p.pad_end.at[a] = c->p1[from];
    }
    p.num_filter = c->oc;
    p.num_group = c->g;
    p.no_bias = rng_chance(r, 40);
    p.layout = !c->channels_last && rng_chance(r, 30) ? 0 : layouts[c->channels_last][c->axes - 1];
    c->params = p;
}

/* Sizes of one axis: kernel, stride, dilation and pads such that there is at least one output.
 * `window`: if not 0, a kernel of that size, as kernels of depthwise layers are. */
static void random_axis(struct conv_case *c, struct rng *r, int a, int64_t max, int64_t window)
{
    c->k[a] = window ? window : rng_chance(r, 25) ? 1 : rng_int(r, 1, 5);
    c->s[a] = window ? c->s[2] : rng_chance(r, 50) ? 1 : rng_int(r, 1, 4);
    c->d[a] = window || rng_chance(r, 70) ? 1 : rng_int(r, 1, 3);
    c->p0[a] = rng_chance(r, 40) ? 0 : rng_int(r, 0, 3);
    c->p1[a] = rng_chance(r, 60) ? c->p0[a] : rng_int(r, 0, 3);
    int64_t least = c->d[a] * (c->k[a] - 1) + 1 - c->p0[a] - c->p1[a];
    if (least < 1) least = 1;
    c->i[a] = rng_int(r, least, least > max ? least : max);
    if (!window && rng_chance(r, 15)) { /* pointwise */
        c->k[a] = c->s[a] = c->d[a] = 1;
        c->p0[a] = c->p1[a] = 0;
    }
}

void conv_case_create_tensors(struct conv_case *c, struct rng *r, int gaps_percent)
{
    for (int a = 0; a < 3; a++)
        c->o[a] = out_size(c->i[a], c->k[a], c->s[a], c->d[a], c->p0[a], c->p1[a]);
    const int64_t src[5] = {c->mb, c->ic, c->i[0], c->i[1], c->i[2]};
    const int64_t dst[5] = {c->mb, c->oc, c->o[0], c->o[1], c->o[2]};
    const int64_t weights[5] = {c->oc, c->ic / c->g, c->k[0], c->k[1], c->k[2]};
    const int64_t bias[5] = {1, c->oc, 1, 1, 1};
    const struct {
        struct box *box;
        const int64_t *sizes;
        int vector, input;
    } all[] = {
        {&c->src, src, 0, 1},
        {&c->weights, weights, 0, 1},
        {&c->bias, bias, 1, 1},
        {&c->dst, dst, 0, 0},
        {&c->diff_dst, dst, 0, 1},
        {&c->diff_src, src, 0, 0},
        {&c->diff_weights, weights, 0, 0},
        {&c->diff_bias, bias, 1, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const int skew = c->aligned ? 0 : (int)rng_int(r, 0, 3);
        const int gaps = rng_chance(r, gaps_percent);
        box_create(all[i].box, r, c->bits, all[i].vector ? 0 : c->axes, c->channels_last,
                   all[i].sizes, gaps, skew);
        if (!all[i].input) continue;
        if (c->integers)
            box_fill_int(all[i].box, r, -3, 3);
        else
            box_fill_real(all[i].box, r);
    }
    if (c->request == CONVOP_REQ_ADD) box_fill_int(&c->dst, r, -9, 9);
    for (int i = 0; i < 3; i++)
        if (c->requests[i] == CONVOP_REQ_ADD) box_fill_int(conv_case_output(c, i + 1), r, -9, 9);
}

void conv_case_create(struct conv_case *c, uint64_t seed)
{
    struct rng r = {seed};
    memset(c, 0, sizeof *c);
    c->seed = seed;
    c->axes = (int)rng_int(&r, 1, 3);
    c->channels_last = rng_chance(&r, 50);
    static const int types[] = {BOX_F32, BOX_F32, BOX_F32, BOX_F64, BOX_F64, BOX_F16, BOX_BF16};
    c->bits = types[rng_int(&r, 0, 6)];
    c->integers = rng_chance(&r, 60);
    c->mb = rng_chance(&r, 5) ? 0 : rng_int(&r, 1, 3);
    c->g = rng_chance(&r, 50) ? 1 : rng_int(&r, 1, 5);
    int64_t icg = rng_chance(&r, 30) ? 1 : rng_int(&r, 1, 9), ocg = rng_int(&r, 1, 9);
    int64_t max = c->axes == 1 ? 60 : c->axes == 2 ? 13 : 6, window = 0, stride = 1;
    int depthwise = rng_chance(&r, 35);
    if (depthwise) { /* past one and two vectors of channels, and of pixels below */
        icg = 1;
        ocg = rng_chance(&r, 70) ? 1 : rng_int(&r, 1, 3);
        c->g = rng_chance(&r, 40) ? rng_int(&r, 1, 40) : rng_int(&r, 1, 5);
        if (rng_chance(&r, 50)) window = rng_chance(&r, 70) ? 3 : 5;
        stride = rng_chance(&r, 60) ? 1 : 2;
    } else if (rng_chance(&r, 10) && c->axes < 3) { /* past the blocks of the kernels */
        icg = rng_int(&r, 10, 70);
        ocg = rng_int(&r, 10, 70);
        c->g = 1;
    }
    c->ic = c->g * icg;
    c->oc = c->g * ocg;
    for (int a = 0; a < 3; a++) c->i[a] = c->k[a] = c->s[a] = c->d[a] = 1;
    if (window) c->s[2] = stride;
    for (int a = 3 - c->axes; a < 3; a++) {
        int wide = depthwise && a == 2 && c->axes == 2 && c->g <= 5;
        random_axis(c, &r, a, wide ? 44 : max, a == 0 ? 0 : window);
    }
    set_params(c, &r);
    static const convop_request kinds[] = {CONVOP_REQ_WRITE, CONVOP_REQ_ADD, CONVOP_REQ_INPLACE,
                                           CONVOP_REQ_NULL};
    c->request = kinds[rng_int(&r, 0, 3)];
    for (int i = 0; i < 3; i++) c->requests[i] = kinds[rng_int(&r, 0, 3)];
    conv_case_create_tensors(c, &r, rng_chance(&r, 30) ? 60 : 0);
}

void conv_case_destroy(struct conv_case *c)
{
    struct box *all[] = {&c->src,      &c->weights,  &c->bias,         &c->dst,
                         &c->diff_dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) box_destroy(all[i]);
}

void conv_case_print(const struct conv_case *c)
{
    printf("g%lldmb%lldic%lldid%lldih%lldiw%lldoc%lldod%lldoh%lldow%lldkd%lldkh%lldkw%lldsd%lldsh%"
           "lldsw%lldpd%lldph%lldpw%llddd%llddh%llddw%lld %s f%d %s requests %d %d%d%d\n",
           (long long)c->g, (long long)c->mb, (long long)c->ic, (long long)c->i[0],
           (long long)c->i[1], (long long)c->i[2], (long long)c->oc, (long long)c->o[0],
           (long long)c->o[1], (long long)c->o[2], (long long)c->k[0], (long long)c->k[1],
           (long long)c->k[2], (long long)c->s[0], (long long)c->s[1], (long long)c->s[2],
           (long long)c->p0[0], (long long)c->p0[1], (long long)c->p0[2], (long long)c->d[0] - 1,
           (long long)c->d[1] - 1, (long long)c->d[2] - 1,
           c->channels_last ? "channels last" : "channels first", c->bits,
           c->integers ? "integers" : "reals", (int)c->request, (int)c->requests[0],
           (int)c->requests[1], (int)c->requests[2]);
}

struct box *conv_case_output(struct conv_case *c, int output)
{
    struct box *all[] = {&c->dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    return all[output];
}

static const convop_conv_direction directions[] = {CONVOP_FWD, CONVOP_BWD_D, CONVOP_BWD_W};

/* All rows of a direction; how many. */
static size_t explain(const struct conv_case *c, int i, const convop_exec *exec,
                      convop_conv_row rows[32])
{
    const DLTensor *tensors[3][3] = {
        {&c->src.tensor, &c->weights.tensor, &c->dst.tensor},
        {&c->diff_src.tensor, &c->weights.tensor, &c->diff_dst.tensor},
        {&c->src.tensor, &c->diff_weights.tensor, &c->diff_dst.tensor}};
    size_t n = 32;
    if (convop_conv_explain(&c->params, directions[i], tensors[i][0], tensors[i][1], tensors[i][2],
                            exec, rows, &n) != CONVOP_OK ||
        n > 32) {
        printf("the rows are not told: %s\n", convop_last_error());
        abort();
    }
    return n;
}

void conv_case_find_bounds(struct conv_case *c, const convop_exec *exec)
{
    for (int i = 0; i < 2; i++) {
        convop_conv_row rows[32];
        const size_t n = explain(c, i, exec, rows);
        c->error_bound[i] = 0;
        for (size_t j = 0; j < n; j++)
            if (rows[j].chosen) c->error_bound[i] = rows[j].error_bound;
    }
}

size_t conv_case_row_names(struct conv_case *c, int without_filter, const char **names, size_t most)
{
    convop_conv_row rows[3][32];
    size_t n[3], found = 0;
    for (int i = 0; i < 3; i++) n[i] = explain(c, i, NULL, rows[i]);
    for (size_t j = 0; j < n[0] && found < most; j++) {
        int is_there[3] = {1}, applies[3] = {rows[0][j].applicable};
        for (int i = 1; i < 3; i++)
            for (size_t l = 0; l < n[i]; l++)
                if (strcmp(rows[i][l].name, rows[0][j].name) == 0) {
                    is_there[i] = 1;
                    applies[i] = rows[i][l].applicable;
                }
        if (applies[0] && applies[1] && (without_filter ? !is_there[2] : applies[2]))
            names[found++] = rows[0][j].name;
    }
    return found;
}

static int64_t count(const int64_t s[5])
{
    return s[0] * s[1] * s[2] * s[3] * s[4];
}

static int64_t flat(const int64_t s[5], const int64_t at[5])
{
    return (((at[0] * s[1] + at[1]) * s[2] + at[2]) * s[3] + at[3]) * s[4] + at[4];
}

static convop_request request_of(const struct conv_case *c, int output)
{
    return output == 0 ? c->request : c->requests[output - 1];
}

static void add(struct conv_expected *e, int output, int64_t at, double product)
{
    e->value[output][at] += product;
    e->magnitude[output][at] += fabs(product);
}

/* All taps of one dst element with one input channel of its group. */
static void visit(const struct conv_case *c, struct conv_expected *e, const int64_t y[5],
                  int64_t channel, const int64_t sizes[4][5])
{
    double dy = box_get(&c->diff_dst, y);
    for (int64_t kd = 0; kd < c->k[0]; kd++)
        for (int64_t kh = 0; kh < c->k[1]; kh++)
            for (int64_t kw = 0; kw < c->k[2]; kw++) {
                int64_t x[5] = {y[0], y[1] / (c->oc / c->g) * (c->ic / c->g) + channel,
                                y[2] * c->s[0] + kd * c->d[0] - c->p0[0],
                                y[3] * c->s[1] + kh * c->d[1] - c->p0[1],
                                y[4] * c->s[2] + kw * c->d[2] - c->p0[2]};
                int64_t w[5] = {y[1], channel, kd, kh, kw};
                if (x[2] < 0 || x[2] >= c->i[0] || x[3] < 0 || x[3] >= c->i[1] || x[4] < 0 ||
                    x[4] >= c->i[2])
                    continue;
                double xv = box_get(&c->src, x), wv = box_get(&c->weights, w);
                add(e, 0, flat(sizes[0], y), xv * wv);
                add(e, 1, flat(sizes[1], x), dy * wv);
                add(e, 2, flat(sizes[2], w), dy * xv);
            }
}

static double largest(const struct box *b)
{
    int64_t sizes[5], at[5];
    double most = 0;
    box_sizes(b, sizes);
    BOX_FOR_EACH(sizes, at) most = fmax(most, fabs(box_get(b, at)));
    return most;
}

/* The largest sum of absolute weights of an output channel, or of a channel of diff_src. */
static double largest_sum(const struct conv_case *c, int backward)
{
    const int64_t icg = c->ic / c->g, ocg = c->oc / c->g, n = backward ? c->ic : c->oc;
    double most = 0, *sums = calloc((size_t)n, sizeof *sums);
    int64_t sizes[5], at[5];
    box_sizes(&c->weights, sizes);
    BOX_FOR_EACH(sizes, at)
    {
        sums[backward ? at[0] / ocg * icg + at[1] : at[0]] += fabs(box_get(&c->weights, at));
    }
    for (int64_t i = 0; i < n; i++) most = fmax(most, sums[i]);
    free(sums);
    return most;
}

double conv_case_reach(const struct conv_case *c, int output)
{
    return largest(output == 0 ? &c->src : &c->diff_dst) * largest_sum(c, output);
}

void conv_case_expect(const struct conv_case *c, struct conv_expected *e)
{
    int64_t sizes[4][5], at[5];
    const struct box *outputs[] = {&c->dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    for (int i = 0; i < 2; i++) e->reach[i] = conv_case_reach(c, i);
    for (int i = 0; i < 4; i++) {
        box_sizes(outputs[i], sizes[i]);
        size_t n = (size_t)count(sizes[i]) + 1;
        e->value[i] = calloc(n, sizeof(double));
        e->magnitude[i] = calloc(n, sizeof(double));
        if (request_of(c, i) == CONVOP_REQ_ADD)
            BOX_FOR_EACH(sizes[i], at) add(e, i, flat(sizes[i], at), box_get(outputs[i], at));
    }
    BOX_FOR_EACH(sizes[0], at)
    {
        const int64_t b[5] = {0, at[1], 0, 0, 0};
        if (!c->params.no_bias) add(e, 0, flat(sizes[0], at), box_get(&c->bias, b));
        add(e, 3, at[1], box_get(&c->diff_dst, at));
        for (int64_t channel = 0; channel < c->ic / c->g; channel++)
            visit(c, e, at, channel, (const int64_t(*)[5])sizes);
    }
}

void conv_expected_free(struct conv_expected *e)
{
    for (int i = 0; i < 4; i++) {
        free(e->value[i]);
        free(e->magnitude[i]);
    }
}

int conv_case_matches(const struct conv_case *c, const struct conv_expected *e, int output)
{
    static const char *const names[] = {"dst", "diff_src", "diff_weights", "diff_bias"};
    const struct box *outputs[] = {&c->dst, &c->diff_src, &c->diff_weights, &c->diff_bias};
    int64_t sizes[5], at[5];
    box_sizes(outputs[output], sizes);
    DLDataType dtype = outputs[output]->tensor.dtype;
    double eps = c->integers ? 0 : c->bits == BOX_F64 ? 0x1p-46 : 0x1p-19;
    const double more = output < 2 ? c->error_bound[output] * 0x1p-24 * e->reach[output] : 0;
    BOX_FOR_EACH(sizes, at)
    {
        int64_t i = flat(sizes, at);
        double got = box_get(outputs[output], at), off = eps * e->magnitude[output][i] + more;
        /* A sum that is as wrong as it may be, rounded once. */
        double low = element_round(dtype, e->value[output][i] - off);
        double high = element_round(dtype, e->value[output][i] + off);
        if (got >= low && got <= high) continue;
        printf("%s[%lld][%lld][%lld][%lld][%lld] is %.17g, must be %.17g to %.17g\n", names[output],
               (long long)at[0], (long long)at[1], (long long)at[2], (long long)at[3],
               (long long)at[4], got, low, high);
        return 0;
    }
    return 1;
}
