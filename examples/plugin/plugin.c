/* A plug-in, to copy from: the operator HardSwish, and a row of Convolution for the depthwise 3x3
 * convolutions of MobileNets. It links nothing of convop:
 *     cc -O3 -fPIC -shared $(pkg-config --cflags convop) -o example.so plugin.c */
#include <convop/plugin.h>
#include <stdio.h>

static const convop_host *host;

/* ---- the operator: dst = src * clip(slope * src + offset, 0, 1) ---------------------------- */

struct hard_swish {
    size_t struct_size;
    double slope, offset;
};

static const convop_field fields[] = {
    {.struct_size = sizeof(convop_field),
     .name = "slope",
     .kind = CONVOP_FIELD_FLOAT,
     .offset = offsetof(struct hard_swish, slope),
     .default_text = "0.16666666666666666",
     .min = -1e6,
     .max = 1e6,
     .doc = "Slope of the gate."},
    {.struct_size = sizeof(convop_field),
     .name = "offset",
     .kind = CONVOP_FIELD_FLOAT,
     .offset = offsetof(struct hard_swish, offset),
     .default_text = "0.5",
     .min = -1e6,
     .max = 1e6,
     .doc = "Value of the gate at 0."},
};

static const convop_arg inputs[] = {{"src", "Any shape; float32 or float64."}};
static const convop_arg outputs[] = {{"dst", "Of the shape of src."}};
static const convop_inplace inplace[] = {{0, 0}};

/* Makes two partial shapes one. */
static convop_status merge(convop_shape *a, convop_shape *b)
{
    if (a->ndim < 0) *a = *b;
    if (b->ndim < 0) *b = *a;
    if (a->ndim != b->ndim)
        return host->fail(CONVOP_E_INVALID,
                          "HardSwish: src has %d dimensions, dst has %d, must be equal", a->ndim,
                          b->ndim);
    for (int i = 0; i < a->ndim; i++) {
        if (a->dim[i] < 0) a->dim[i] = b->dim[i];
        if (b->dim[i] < 0) b->dim[i] = a->dim[i];
        if (a->dim[i] != b->dim[i])
            return host->fail(CONVOP_E_INVALID,
                              "HardSwish: dimension %d of src is %lld, of dst %lld, must be equal",
                              i, (long long)a->dim[i], (long long)b->dim[i]);
    }
    return CONVOP_OK;
}

static convop_status infer_shape(const void *params, int num_inputs, convop_shape *in,
                                 int num_outputs, convop_shape *out)
{
    (void)params, (void)num_inputs, (void)num_outputs;
    return merge(&in[0], &out[0]);
}

static convop_status plan(const convop_op_args *args, void *plan_, size_t *workspace_bytes)
{
    (void)plan_;
    const DLTensor *src = args->inputs[0];
    *workspace_bytes = 0;
    if (src->device.device_type != kDLCPU)
        return host->fail(CONVOP_E_UNSUPPORTED,
                          "HardSwish: src is on device type %d, must be a CPU's",
                          (int)src->device.device_type);
    if (src->dtype.code != kDLFloat || (src->dtype.bits != 32 && src->dtype.bits != 64))
        return host->fail(
            CONVOP_E_UNSUPPORTED,
            "HardSwish: src has dtype code %d with %d bits, must be float32 or float64",
            src->dtype.code, src->dtype.bits);
    return CONVOP_OK;
}

/* Elements of a range, in row-major order. A range of the loop is some blocks of them. */
enum { BLOCK = 4096 };

struct job {
    const struct hard_swish *p;
    const DLTensor *src, *dst;
    int64_t n;
    int add;
};

/* Element number i of a tensor, from its first one. */
static int64_t offset_of(const DLTensor *t, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int k = t->ndim - 1; k >= 0; k--) {
        at += i % t->shape[k] * (t->strides ? t->strides[k] : stride);
        i /= t->shape[k];
        stride *= t->shape[k];
    }
    return at;
}

static void swish(void *job_, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = job_;
    const char *src = (const char *)job->src->data + job->src->byte_offset;
    char *dst = (char *)job->dst->data + job->dst->byte_offset;
    for (int64_t i = begin * BLOCK; i < end * BLOCK && i < job->n; i++) {
        const void *from = src + offset_of(job->src, i) * (job->src->dtype.bits / 8);
        void *to = dst + offset_of(job->dst, i) * (job->dst->dtype.bits / 8);
        double x = job->src->dtype.bits == 64 ? *(const double *)from : *(const float *)from;
        double gate = job->p->slope * x + job->p->offset;
        double y = x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
        if (job->src->dtype.bits == 64)
            *(double *)to = job->add ? *(double *)to + y : y;
        else
            *(float *)to = (float)(job->add ? *(float *)to + y : y);
    }
}

/* WRITE and INPLACE are the same here: an element is read before it is written. */
static convop_status run(const convop_op_args *args, const void *plan_, void *workspace)
{
    (void)plan_, (void)workspace;
    if (args->requests[0] == CONVOP_REQ_NULL) return CONVOP_OK;
    struct job job = {args->params, args->inputs[0], args->outputs[0], 1,
                      args->requests[0] == CONVOP_REQ_ADD};
    for (int k = 0; k < job.src->ndim; k++) job.n *= job.src->shape[k];
    host->parallel(args->context, (job.n + BLOCK - 1) / BLOCK, swish, &job);
    return CONVOP_OK;
}

static const convop_op hard_swish = {
    .struct_size = sizeof(convop_op),
    .name = "HardSwish",
    .doc = "dst = src * clip(slope * src + offset, 0, 1), element by element.",
    .level = 1,
    .params_size = sizeof(struct hard_swish),
    .fields = fields,
    .num_fields = 2,
    .inputs = inputs,
    .outputs = outputs,
    .max_inputs = 1,
    .max_outputs = 1,
    .infer_shape = infer_shape,
    .plan = plan,
    .run = run,
    .inplace = inplace,
    .num_inplace = 1,
};

/* ---- the row: depthwise 3x3, stride 1, padding 1, NCHW, float32 ----------------------------- */

static int takes(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    const char *no = NULL;
    if (p->depthwise_conv_off) no = "depthwise_conv_off is set";
    if (p->dtype.code != kDLFloat || p->dtype.bits != 32 || !p->dense || p->channels_last)
        no = "it takes compact float32 in NCHW";
    if (p->g != p->ic || p->g != p->oc) no = "a group has more than one channel";
    if (p->axes != 2 || p->kh != 3 || p->kw != 3 || p->sh != 1 || p->sw != 1 || p->dh != 1 ||
        p->dw != 1 || p->ph != 1 || p->pw != 1 || p->oh != p->ih || p->ow != p->iw)
        no = "it takes 3x3 with stride 1, padding 1, no dilation";
    if (no) snprintf(why, CONVOP_WHY_SIZE, "%s", no);
    return !no;
}

/* One pixel at the border: taps outside of the plane are left out. */
static inline float border(const float *src, const float *w, int64_t h, int64_t width, int64_t y,
                           int64_t x)
{
    float sum = 0;
    for (int64_t i = y > 0 ? -1 : 0; i <= (y < h - 1 ? 1 : 0); i++)
        for (int64_t j = x > 0 ? -1 : 0; j <= (x < width - 1 ? 1 : 0); j++)
            sum += src[(y + i) * width + x + j] * w[(i + 1) * 3 + j + 1];
    return sum;
}

/* Adds the columns that have both neighbours, for the rows k0..k1 of the window around src. */
static inline __attribute__((always_inline)) void add_inner(const float *restrict src,
                                                            const float *restrict w, int64_t width,
                                                            int k0, int k1, float *restrict dst)
{
    if (k0 == 0 && k1 == 3) {
        const float *a = src - width, *b = src, *c = src + width;
        for (int64_t x = 1; x < width - 1; x++)
            dst[x] += a[x - 1] * w[0] + a[x] * w[1] + a[x + 1] * w[2] + b[x - 1] * w[3] +
                      b[x] * w[4] + b[x + 1] * w[5] + c[x - 1] * w[6] + c[x] * w[7] +
                      c[x + 1] * w[8];
        return;
    }
    for (int k = k0; k < k1; k++) {
        const float *a = src + (k - 1) * width;
        for (int64_t x = 1; x < width - 1; x++)
            dst[x] += a[x - 1] * w[k * 3] + a[x] * w[k * 3 + 1] + a[x + 1] * w[k * 3 + 2];
    }
}

static inline __attribute__((always_inline)) void compute_planes(const convop_conv_problem *p,
                                                                 const convop_conv_operands *t,
                                                                 int64_t begin, int64_t end)
{
    const int64_t h = p->ih, width = p->iw;
    for (int64_t i = begin; i < end; i++) {
        const float *src = (const float *)t->src + i * h * width;
        const float *w = (const float *)t->weights + i % p->oc * 9;
        float *dst = (float *)t->out + i * h * width;
        float bias = t->bias ? ((const float *)t->bias)[i % p->oc * p->bias_stride] : 0;
        for (int64_t y = 0; y < h; y++) {
            float *row = dst + y * width;
            for (int64_t x = 0; x < width; x++) row[x] = (p->add ? row[x] : 0) + bias;
            row[0] += border(src, w, h, width, y, 0);
            if (width > 1) row[width - 1] += border(src, w, h, width, y, width - 1);
            add_inner(src + y * width, w, width, y == 0, y == h - 1 ? 2 : 3, row);
        }
    }
}

struct planes {
    const convop_conv_problem *p;
    const convop_conv_operands *t;
};

static void planes_baseline(void *job, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    compute_planes(((struct planes *)job)->p, ((struct planes *)job)->t, begin, end);
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void planes_avx2(void *job, int lane, int64_t begin,
                                                            int64_t end)
{
    (void)lane;
    compute_planes(((struct planes *)job)->p, ((struct planes *)job)->t, begin, end);
}
#endif

/* Planes are computed one by one, so the bits do not depend on the threads. */
static convop_status run_planes(const convop_conv_problem *p, const convop_conv_operands *t,
                                const convop_context *context, void *workspace)
{
    (void)workspace;
    struct planes job = {p, t};
    void (*body)(void *, int, int64_t, int64_t) = planes_baseline;
#ifdef __x86_64__
    if (p->isa >= 1) body = planes_avx2; /* what convop found, or the setting "isa" allows */
#endif
    host->parallel(context, p->mb * p->oc, body, &job);
    return CONVOP_OK;
}

static const convop_conv_impl depthwise3x3 = {
    .struct_size = sizeof(convop_conv_impl),
    .name = "depthwise3x3",
    .direction = CONVOP_FWD,
    .version = 1,
    .level = 20, /* above the built-in rows */
    .applicable = takes,
    .run = run_planes,
};

/* ---- the plug-in ---------------------------------------------------------------------------- */

static convop_status init(const convop_host *h)
{
    host = h;
    convop_status status = host->op_register(host, &hard_swish);
    if (status == CONVOP_OK) status = host->conv_impl_register(host, &depthwise3x3);
    return status;
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = (convop_plugin){
        .struct_size = sizeof *plugin,
        .abi_min = CONVOP_PLUGIN_ABI,
        .abi_max = CONVOP_PLUGIN_ABI,
        .name = "example",
        .version = "1.0",
        .doc = "HardSwish, and a faster depthwise 3x3 convolution.",
        .init = init,
    };
}
