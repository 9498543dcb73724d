/* Strided copies: the inner loop runs along the axis where the target's stride is smallest, the
 * others are one flat range that a parallel loop shares out. */
#include "src/operator/copy.h"

#include "src/common/half.h"
#include "src/common/stage.h"
#include "src/common/tensor.h"
#include "src/engine/parallel.h"

/* Elements as plain words: what they mean does not matter here, and they may be anybody's. */
typedef uint16_t __attribute__((may_alias)) word2;
typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;
typedef float __attribute__((may_alias)) single;

struct axis {
    int64_t size, to, from;
};

typedef void copy_line(void *to, const void *from, struct axis line);

#define COPY_LINE(name, to_type, from_type, convert)                                               \
    static void name(void *to_, const void *from_, struct axis line)                               \
    {                                                                                              \
        to_type *to = to_;                                                                         \
        const from_type *from = from_;                                                             \
        if (line.to == 1 && line.from == 1)                                                        \
            for (int64_t i = 0; i < line.size; i++) to[i] = convert(from[i]);                      \
        else                                                                                       \
            for (int64_t i = 0; i < line.size; i++)                                                \
                to[i * line.to] = convert(from[i * line.from]);                                    \
    }
#define AS_IT_IS(x) (x)
COPY_LINE(copy2, word2, word2, AS_IT_IS)
COPY_LINE(copy4, word4, word4, AS_IT_IS)
COPY_LINE(copy8, word8, word8, AS_IT_IS)
COPY_LINE(f16_to_single, single, word2, cvp_float_of_f16)
COPY_LINE(bf16_to_single, single, word2, cvp_float_of_bf16)
COPY_LINE(single_to_f16, word2, single, cvp_f16_of_float)
COPY_LINE(single_to_bf16, word2, single, cvp_bf16_of_float)

static copy_line *line_for(DLDataType to, DLDataType from)
{
    if (to.bits == from.bits) return to.bits == 16 ? copy2 : to.bits == 32 ? copy4 : copy8;
    if (from.bits == 16) return from.code == kDLBfloat ? bf16_to_single : f16_to_single;
    return to.code == kDLBfloat ? single_to_bf16 : single_to_f16;
}

struct job {
    copy_line *copy;
    int outer; /* axes in front of the inner one */
    struct axis axis[CONVOP_MAX_DIMS];
    char *to;
    const char *from;
    int64_t to_size, from_size; /* bytes of an element */
};

static void copy_lines(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    for (int64_t l = begin; l < end; l++) {
        int64_t rest = l, to_at = 0, from_at = 0;
        for (int i = job->outer - 1; i >= 0; i--) {
            int64_t at = rest % job->axis[i].size;
            rest /= job->axis[i].size;
            to_at += at * job->axis[i].to;
            from_at += at * job->axis[i].from;
        }
        job->copy(job->to + to_at * job->to_size, job->from + from_at * job->from_size,
                  job->axis[job->outer]);
    }
}

/* Axes by falling stride of the target; those of size 1, whose stride means nothing, in front. */
static int comes_before(struct axis a, struct axis b)
{
    if ((a.size == 1) != (b.size == 1)) return a.size == 1;
    return a.to > b.to;
}

void cvp_copy_strided(const convop_context *context, int ndim, const int64_t *sizes, void *to,
                      const int64_t *to_strides, DLDataType to_type, const void *from,
                      const int64_t *from_strides, DLDataType from_type)
{
    struct job job = {.copy = line_for(to_type, from_type),
                      .outer = ndim - 1,
                      .to = to,
                      .from = from,
                      .to_size = (int64_t)cvp_dtype_size(to_type),
                      .from_size = (int64_t)cvp_dtype_size(from_type)};
    int64_t lines = 1;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == 0) return;
        struct axis axis = {sizes[i], to_strides[i], from_strides[i]};
        int at = i;
        for (; at > 0 && comes_before(axis, job.axis[at - 1]); at--)
            job.axis[at] = job.axis[at - 1];
        job.axis[at] = axis;
    }
    for (int i = 0; i < job.outer; i++) lines *= job.axis[i].size;
    int stage = cvp_stage_enter(CONVOP_STAGE_COPY);
    cvp_parallel(context, lines, copy_lines, &job);
    cvp_stage_leave(stage);
}
