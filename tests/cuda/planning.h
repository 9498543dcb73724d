/* Plans for GPUs that are not here: their properties, and problems from the lists of bench/. */
#ifndef TEST_CUDA_PLANNING_H
#define TEST_CUDA_PLANNING_H

#include <stdio.h>
#include <string.h>

#include "src/engine/context.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/cudnn/plan.h"
#include "tools/problems/query.h"

static const char *const gpu_names[] = {"h200", "a100", "rtx4090", "b200"};
enum { NUM_GPUS = 4 };

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

/* What cuDNN's libraries never free is theirs; a test counts convop's own objects. */
static inline void ignore_foreign_leaks(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __lsan_disable();
#endif
}

/* The text of a file; 0: it cannot be read or does not fit. */
static inline int read_text(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    const size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    text[n] = '\0';
    return n < size - 1;
}

/* The properties of a GPU by its name; 0 with a line on stdout. */
static inline int read_gpu(const struct cvp_cudnn *cudnn, const char *name, struct cvp_gpu *gpu)
{
    char path[512], json[8192];
    snprintf(path, sizeof path, TEST_DEVICES "/%s.json", name);
    if (!read_text(path, json, sizeof json) || cvp_gpu_absent(cudnn, json, gpu) != CONVOP_OK) {
        printf("%s: %s\n", path, convop_last_error());
        return 0;
    }
    return 1;
}

/* The problem of a descriptor on that GPU, with MXNet's workspace of 1 GiB. */
static inline convop_status make_problem(const struct descriptor *d, enum direction direction,
                                         enum type type, enum tag tag, const struct cvp_gpu *gpu,
                                         convop_conv_problem *p)
{
    struct query q;
    const convop_context *context;
    query_make(d, &(struct post_ops){ADD_NOTHING, CONVOP_ACTIVATION_NONE}, direction, type, tag,
               &q);
    const struct conv_tensors t = {.src = &q.src, .weights = &q.weights, .dst = &q.dst};
    convop_shape src = cvp_conv_shape_of(&q.src), dst = cvp_conv_shape_of(&q.dst);
    convop_status status = cvp_context_get(NULL, &context);
    if (status == CONVOP_OK)
        status = cvp_conv_problem_init(p, &q.params, library_direction(direction), q.src.dtype,
                                       &src, &dst, &t, context, (size_t)1 << 30);
    p->device_type = kDLCUDA;
    p->gpu = gpu;
    return status;
}

#endif
