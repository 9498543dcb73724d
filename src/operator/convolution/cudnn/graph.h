/* A direction of a convolution as a graph of cuDNN's operations. */
#ifndef CVP_CONV_CUDNN_GRAPH_H
#define CVP_CONV_CUDNN_GRAPH_H

#include "src/cuda/backend.h"
#include "src/operator/convolution/problem.h"

/* What a pointer is bound to when the graph runs. */
enum conv_uid {
    CONV_UID_SRC = 1,
    CONV_UID_WEIGHTS,
    CONV_UID_DST,
    CONV_UID_BIAS,
    CONV_UID_OLD,
    CONV_UID_RESIDUAL
};

/* cuDNN is promised so many bytes; a call with less takes another row. */
#define CONV_CUDNN_ALIGNMENT 16

/* The graph, finalised, in the scope; NULL with b->status set. */
void *cvp_conv_cudnn_graph(struct cvp_backend *b, const convop_conv_problem *p);

#endif
