/* Shape inference with any parameters and any partial shapes. After the parameters' empty line
 * comes a line for each input, then for each output: sizes with commas between, -1 for an unknown
 * one, "?" for an unknown rank. Lines that are missing are unknown shapes.
 *
 * What must hold: a refusal changes nothing and says why; an answer keeps what was known, is
 * complete where everything needed was given, and infers to itself. */
#include "convop/convolution.h"
#include "fuzz.h"
#include "src/common/alloc.h"

#define MOST 8

static convop_shape read_shape(const char *line)
{
    convop_shape s = {.ndim = -1};
    if (line == NULL || *line == '?') return s;
    s.ndim = 0;
    while (*line != '\0' && s.ndim < CONVOP_MAX_DIMS) {
        char *end;
        s.dim[s.ndim++] = strtoll(line, &end, 10);
        line = end + strcspn(end, ",");
        if (*line == ',') line++;
    }
    if (*line == '+') s.ndim = (int)strtol(line, NULL, 10); /* a rank that no shape may have */
    return s;
}

static void check_kept(const convop_shape *before, const convop_shape *after)
{
    FUZZ_CHECK(after->ndim >= -1 && after->ndim <= CONVOP_MAX_DIMS);
    FUZZ_CHECK(before->ndim == -1 || before->ndim == after->ndim);
    for (int i = 0; i < after->ndim; i++) {
        FUZZ_CHECK(after->dim[i] >= -1);
        if (before->ndim >= 0 && before->dim[i] != -1) FUZZ_CHECK(before->dim[i] == after->dim[i]);
    }
}

static int same(const convop_shape *a, const convop_shape *b)
{
    return a->ndim == b->ndim &&
           (a->ndim <= 0 || memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof a->dim[0]) == 0);
}

/* The formula of convop/convolution.h, in numbers that do not overflow. */
static void check_convolution(const convop_conv_params *p, const convop_shape *in,
                              const convop_shape *out)
{
    if (!convop_shape_is_known(&in[0])) return;
    FUZZ_CHECK(convop_shape_is_known(&in[1]) && convop_shape_is_known(out));
    int last = p->layout == CONVOP_LAYOUT_NWC || p->layout == CONVOP_LAYOUT_NHWC ||
               p->layout == CONVOP_LAYOUT_NDHWC;
    int c = last ? in[0].ndim - 1 : 1, spatial = last ? 1 : 2;
    FUZZ_CHECK(out->dim[0] == in[0].dim[0] && out->dim[c] == p->num_filter);
    FUZZ_CHECK(in[1].dim[0] == p->num_filter);
    FUZZ_CHECK((__extension__(__int128) in[1].dim[c]) * p->num_group == in[0].dim[c]);
    for (int a = 0; a < p->kernel.len; a++) {
        __extension__ __int128 size = in[0].dim[spatial + a], stride = 1, dilate = 1;
        if (a < p->pad_begin.len) size += p->pad_begin.at[a];
        if (a < p->pad_end.len) size += p->pad_end.at[a];
        if (a < p->stride.len) stride = p->stride.at[a];
        if (a < p->dilate.len) dilate = p->dilate.at[a];
        size -= dilate * (p->kernel.at[a] - 1) + 1;
        FUZZ_CHECK(size >= 0);
        FUZZ_CHECK(out->dim[spatial + a] == size / stride + 1);
    }
}

static void infer(const convop_op *op, const void *params, struct fuzz_input *in)
{
    int num_in = op->num_inputs ? op->num_inputs(params) : op->max_inputs;
    int num_out = op->num_outputs ? op->num_outputs(params) : op->max_outputs;
    if (num_in < 0 || num_in > MOST || num_out < 0 || num_out > MOST) return;
    convop_shape shapes[2 * MOST], before[2 * MOST];
    for (int i = 0; i < num_in + num_out; i++) shapes[i] = read_shape(fuzz_line(&in->rest));
    memcpy(before, shapes, sizeof(convop_shape) * (size_t)(num_in + num_out));
    uint64_t live = cvp_alloc_live();
    convop_status status =
        convop_infer(op, params, num_in, shapes, num_out, shapes + num_in, NULL, NULL);
    FUZZ_CHECK(cvp_alloc_live() == live);
    size_t bytes = sizeof(convop_shape) * (size_t)(num_in + num_out);
    if (status != CONVOP_OK) {
        FUZZ_CHECK(status == CONVOP_E_INVALID);
        FUZZ_CHECK(memcmp(before, shapes, bytes) == 0);
        fuzz_check_sentence();
        return;
    }
    for (int i = 0; i < num_in + num_out; i++) check_kept(&before[i], &shapes[i]);
    if (strcmp(op->name, "Convolution") == 0) check_convolution(params, shapes, shapes + num_in);
    memcpy(before, shapes, bytes);
    FUZZ_CHECK(convop_infer(op, params, num_in, shapes, num_out, shapes + num_in, NULL, NULL) ==
               CONVOP_OK);
    for (int i = 0; i < num_in + num_out; i++) FUZZ_CHECK(same(&before[i], &shapes[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in;
    fuzz_split(&in, data, size);
    const convop_op *op = NULL;
    if (convop_op_find(in.name, &op) == CONVOP_OK && op->infer_shape != NULL) {
        void *params = malloc(op->params_size);
        if (params == NULL) abort();
        if (convop_params_parse(op, in.num_pairs, in.keys, in.values, params, op->params_size) ==
            CONVOP_OK)
            infer(op, params, &in);
        free(params);
    }
    convop_op_release(&op);
    free(in.text);
    return 0;
}
