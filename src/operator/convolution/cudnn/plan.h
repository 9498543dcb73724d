/* A plan of cuDNN for a direction of a convolution: an engine, its knobs, and what they need. It
 * is made for a GPU that may not be here, and kept as cuDNN's JSON. */
#ifndef CVP_CONV_CUDNN_PLAN_H
#define CVP_CONV_CUDNN_PLAN_H

#include "src/cuda/properties.h"
#include "src/operator/convolution/cudnn/graph.h"

/* Immutable; runs in many threads, each with a handle of its own. */
struct conv_cudnn_plan {
    const struct cvp_cudnn *cudnn;
    void *descriptor; /* cuDNN's */
    size_t workspace; /* bytes */
    int64_t engine;
    char *json;
};

void cvp_conv_cudnn_plan_end(struct conv_cudnn_plan *plan);

/* The plan that the JSON of an earlier process names, for this very problem: its engine and knobs
 * are taken, its shapes and addresses are not. UNSUPPORTED where it no longer fits. */
convop_status cvp_conv_cudnn_restore(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                     const convop_conv_problem *p, const char *json,
                                     struct conv_cudnn_plan *plan);

/* The plan of an engine configuration of the problem's graph. */
convop_status cvp_conv_cudnn_build(const struct cvp_cudnn *cudnn, void *properties,
                                   void *configuration, struct conv_cudnn_plan *plan);

/* The best by cuDNN's heuristics that are allowed and fit the workspace limit, at most `most`, all
 * different; *count of them. UNSUPPORTED where there is none: the sentence says what kept each from
 * it. */
convop_status cvp_conv_cudnn_offer(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu,
                                   const convop_conv_problem *p, int most,
                                   struct conv_cudnn_plan plans[], int *count);

#endif
