/* Strided copies: the inner loop runs along the dimension where the target's stride is smallest,
 * the others are one flat range that a parallel loop shares out. */
#include "src/operator/copy.h"

#include "src/engine/parallel.h"

/* Elements as plain words: what they mean does not matter here, and they may be anybody's. */
typedef uint16_t __attribute__((may_alias)) word2;
typedef uint32_t __attribute__((may_alias)) word4;
typedef uint64_t __attribute__((may_alias)) word8;

struct axis {
    int64_t size, to, from;
};

struct job {
    size_t size;
    int outer; /* axes in front of the inner one */
    struct axis axis[CONVOP_MAX_DIMS];
    char *to;
    const char *from;
};

#define COPY_LINE(type)                                                                            \
    do {                                                                                           \
        type *t = (type *)(void *)to;                                                              \
        const type *f = (const type *)(const void *)from;                                          \
        for (int64_t i = 0; i < line.size; i++) t[i * line.to] = f[i * line.from];                 \
    } while (0)

static void copy_lines(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const struct axis line = job->axis[job->outer];
    for (int64_t l = begin; l < end; l++) {
        int64_t rest = l, to_at = 0, from_at = 0;
        for (int i = job->outer - 1; i >= 0; i--) {
            int64_t at = rest % job->axis[i].size;
            rest /= job->axis[i].size;
            to_at += at * job->axis[i].to;
            from_at += at * job->axis[i].from;
        }
        char *to = job->to + to_at * (int64_t)job->size;
        const char *from = job->from + from_at * (int64_t)job->size;
        switch (job->size) {
        case 2: COPY_LINE(word2); break;
        case 4: COPY_LINE(word4); break;
        default: COPY_LINE(word8); break;
        }
    }
}

void cvp_copy_strided(const convop_context *context, size_t size, int ndim, const int64_t *sizes,
                      void *to, const int64_t *to_strides, const void *from,
                      const int64_t *from_strides)
{
    struct job job = {.size = size, .outer = ndim - 1, .to = to, .from = from};
    int64_t lines = 1;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] == 0) return;
        /* Insertion by falling stride of the target. */
        int at = i;
        while (at > 0 && job.axis[at - 1].to < to_strides[i]) {
            job.axis[at] = job.axis[at - 1];
            at--;
        }
        job.axis[at] = (struct axis){sizes[i], to_strides[i], from_strides[i]};
    }
    /* Axes of size 1 may have any stride: they must not be the inner one. */
    for (int i = ndim - 1; i > 0 && job.axis[ndim - 1].size == 1; i--) {
        struct axis last = job.axis[ndim - 1];
        for (int j = ndim - 1; j > 0; j--) job.axis[j] = job.axis[j - 1];
        job.axis[0] = last;
    }
    for (int i = 0; i < job.outer; i++) lines *= job.axis[i].size;
    cvp_parallel(context, lines, copy_lines, &job);
}
