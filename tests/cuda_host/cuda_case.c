#include "tests/cuda_host/cuda_case.h"

#include <stdlib.h>
#include <string.h>

#include "src/engine/context.h"
#include "src/operator/convolution/convolution.h"

long cuda_case_launches[CVP_CUDA_KERNELS];
int cuda_case_tile;

/* src, weights, bias, dst of a direction, gradients in their places. */
static void tensors_of(struct conv_case *c, convop_conv_direction direction, struct box *boxes[4])
{
    const int forward = direction == CONVOP_FWD;
    boxes[0] = direction == CONVOP_BWD_D ? &c->diff_src : &c->src;
    boxes[1] = direction == CONVOP_BWD_W ? &c->diff_weights : &c->weights;
    boxes[2] = direction == CONVOP_BWD_B ? &c->diff_bias : &c->bias;
    boxes[3] = forward ? &c->dst : &c->diff_dst;
}

static convop_request request_of(const struct conv_case *c, convop_conv_direction direction)
{
    return direction == CONVOP_FWD ? c->request : c->requests[direction - 1];
}

convop_conv_problem cuda_case_problem(struct conv_case *c, convop_conv_direction direction)
{
    struct box *b[4];
    tensors_of(c, direction, b);
    const struct conv_tensors tensors = {&b[0]->tensor, &b[1]->tensor, &b[2]->tensor, &b[3]->tensor,
                                         NULL};
    const convop_shape src = cvp_conv_shape_of(&c->src.tensor),
                       dst = cvp_conv_shape_of(&c->dst.tensor);
    const convop_context *context;
    convop_conv_problem p;
    if (cvp_context_get(NULL, &context) != CONVOP_OK ||
        cvp_conv_problem_init(&p, &c->params, direction, c->src.tensor.dtype, &src, &dst, &tensors,
                              context, (size_t)1 << 40) != CONVOP_OK) {
        printf("no problem: %s\n", convop_last_error());
        abort();
    }
    p.add = request_of(c, direction) == CONVOP_REQ_ADD;
    return p;
}

static void *data_of(const struct box *b)
{
    return (char *)b->tensor.data + b->tensor.byte_offset;
}

static void watch_box(const struct box *b)
{
    const size_t size = b->tensor.dtype.bits / 8;
    cuda_host_watch(b->memory, b->bytes / size, size);
}

static size_t elements_of(const struct box *b)
{
    size_t n = 1;
    for (int i = 0; i < b->tensor.ndim; i++) n *= (size_t)b->tensor.shape[i];
    return n;
}

/* 1 if each element of the output, and nothing else of its memory, was stored once. */
static int is_stored_once(const struct box *out)
{
    const struct cuda_host_seen seen = cuda_host_watched(out->memory);
    const size_t all = out->bytes / (out->tensor.dtype.bits / 8);
    if (seen.stored_twice == 0 && all - seen.never_stored == elements_of(out)) return 1;
    printf("of %zu elements %zu were stored, %zu more than once\n", elements_of(out),
           all - seen.never_stored, seen.stored_twice);
    return 0;
}

int cuda_case_run(struct conv_case *c, const struct cvp_cuda_way *way,
                  convop_conv_direction direction, int activation, const struct box *residual)
{
    struct box *b[4];
    tensors_of(c, direction, b);
    convop_conv_problem p = cuda_case_problem(c, direction);
    p.activation = activation, p.residual = residual != NULL;
    struct box *const out = conv_case_output(c, (int)direction);
    int tiles[CVP_CUDA_MOST_TILES];
    const int count = way->tiles(&p, tiles), tile = tiles[cuda_case_tile % count];
    const size_t bytes = way->workspace(&p, tile), size = cvp_cuda_sum_size(&p);
    void *const workspace = malloc(bytes + size);
    memset(workspace, 0xff, bytes + size);
    cuda_host_forget();
    for (int i = 0; i < 4; i++) watch_box(b[i]);
    if (residual) watch_box(residual);
    if (bytes) cuda_host_watch(workspace, bytes / size, size);
    const struct cvp_cuda_operands t = {.src = data_of(b[0]),
                                        .weights = data_of(b[1]),
                                        .bias = data_of(b[2]),
                                        .dst = data_of(b[3]),
                                        .out = data_of(out),
                                        .workspace = workspace,
                                        .residual = residual ? data_of(residual) : NULL};
    int bad = 0;
    for (int64_t i = 0; i < way->steps(&p, tile) && !bad; i++) {
        struct cvp_cuda_step s;
        const char *error;
        way->step(&p, tile, &t, i, &s);
        cuda_case_launches[s.kernel]++;
        if (cuda_host_launch(cvp_cuda_kernel_name(s.kernel), s.grid, s.threads, s.shared, &s.args,
                             &error)) {
            printf("%s: %s\n", cvp_cuda_kernel_name(s.kernel), error);
            bad = 1;
        }
    }
    if (!bad) bad = !is_stored_once(out);
    free(workspace);
    return bad ? -1 : 0;
}

int cuda_case_is_right(struct conv_case *c, const struct cvp_cuda_way *way,
                       convop_conv_direction direction, const struct conv_expected *e)
{
    const convop_conv_problem p = cuda_case_problem(c, direction);
    char why[CONVOP_WHY_SIZE];
    if (p.mb == 0 || request_of(c, direction) == CONVOP_REQ_NULL || !way->takes(&p, why)) return 1;
    const int bad = cuda_case_run(c, way, direction, CONVOP_ACTIVATION_NONE, NULL);
    if (bad || !conv_case_matches(c, e, (int)direction)) {
        printf("direction %d of ", (int)direction);
        return 0;
    }
    return 1;
}
