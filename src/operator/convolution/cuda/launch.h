/* Launches of convop's CUDA kernels, as plain data: which kernel, how many blocks, with what.
 * Planned without a device; whoever has one, or the host harness of the tests, carries them out in
 * order. */
#ifndef CVP_CONV_CUDA_LAUNCH_H
#define CVP_CONV_CUDA_LAUNCH_H

#include "src/operator/convolution/cuda/args.h"
#include "src/operator/convolution/impl.h"

/* The order of the types of a kernel in kernel_list.h. */
enum cvp_cuda_type { CVP_CUDA_F32, CVP_CUDA_F16, CVP_CUDA_BF16, CVP_CUDA_F64 };

enum cvp_cuda_kernel {
#define CUDA_KERNEL(name, args, threads, body) CVP_CUDA_##name,
#include "src/operator/convolution/cuda/kernel_list.h"
#undef CUDA_KERNEL
    CVP_CUDA_KERNELS
};

/* As the fatbin has it. */
const char *cvp_cuda_kernel_name(enum cvp_cuda_kernel kernel);

/* The largest launch in x, in y and z; shared memory that needs no attribute. */
#define CVP_CUDA_MAX_X      INT32_MAX
#define CVP_CUDA_MAX_YZ     65535
#define CVP_CUDA_MAX_SHARED (48 << 10)

struct cvp_cuda_step {
    enum cvp_cuda_kernel kernel;
    unsigned grid[3], threads, shared; /* shared: bytes */
    union {
        struct cvp_dw_args dw;
        struct cvp_dw_filter_args dw_filter;
        struct cvp_dw_direct_args dw_direct;
        struct cvp_dw_direct_filter_args dw_direct_filter;
        struct cvp_gemm_args gemm;
        struct cvp_cuda_reduce_args reduce;
    } args;
};

/* Addresses of a call, on the device; as convop_conv_operands. */
struct cvp_cuda_operands {
    const void *src, *weights, *bias, *dst, *residual;
    void *out, *workspace;
};

/* Ways to cut a problem into blocks have numbers, `tile` below; 0 is taken until something was
 * measured. */
#define CVP_CUDA_MOST_TILES 4

/* A way to compute a direction in some launches; all functions are pure. */
struct cvp_cuda_way {
    int (*takes)(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);
    /* Numbers of those that differ and fit the workspace limit, the most promising first; how many.
     */
    int (*tiles)(const convop_conv_problem *p, int tiles[CVP_CUDA_MOST_TILES]);
    /* Enough for any addresses. */
    size_t (*workspace)(const convop_conv_problem *p, int tile);
    int64_t (*steps)(const convop_conv_problem *p, int tile);
    /* Number i of `steps`. */
    void (*step)(const convop_conv_problem *p, int tile, const struct cvp_cuda_operands *t,
                 int64_t i, struct cvp_cuda_step *s);
};

extern const struct cvp_cuda_way cvp_cuda_depthwise; /* CONVOP_FWD, BWD_D, BWD_W */
extern const struct cvp_cuda_way cvp_cuda_gemm;      /* the same */
extern const struct cvp_cuda_way cvp_cuda_bias;      /* CONVOP_BWD_B */

/* ---- for the ways ---------------------------------------------------------------------------- */

static inline enum cvp_cuda_type cvp_cuda_type(const convop_conv_problem *p)
{
    static const enum cvp_cuda_type types[CVP_STORED_COUNT] = {
        [CVP_STORED_F32] = CVP_CUDA_F32,
        [CVP_STORED_F64] = CVP_CUDA_F64,
        [CVP_STORED_F16] = CVP_CUDA_F16,
        [CVP_STORED_BF16] = CVP_CUDA_BF16,
    };
    return types[cvp_conv_stored_type(p)];
}

/* Bytes of a sum. */
static inline size_t cvp_cuda_sum_size(const convop_conv_problem *p)
{
    return p->dtype.bits == 64 ? 8 : 4;
}

static inline struct cvp_cuda_strides cvp_cuda_strides_of(const convop_conv_strides *s)
{
    return (struct cvp_cuda_strides){s->n, s->c, s->d, s->h, s->w};
}

struct cvp_cuda_finish cvp_cuda_finish_of(const convop_conv_problem *p,
                                          const struct cvp_cuda_operands *t);

/* 1 if all sizes, also summed with what windows reach, are far below 2^31, as kernels count them.
 */
int cvp_cuda_sizes_fit(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE]);

/* Bytes of so many parts of sums, SIZE_MAX if that overflows; and how many the limit allows. */
size_t cvp_cuda_parts_bytes(const convop_conv_problem *p, int64_t parts);
int64_t cvp_cuda_most_parts(const convop_conv_problem *p);

/* The second stage: `parts` sums of out's `count` elements, in the workspace. */
void cvp_cuda_reduce_step(const convop_conv_problem *p, const struct cvp_cuda_operands *t,
                          int64_t parts, struct cvp_cuda_step *s);

#endif
