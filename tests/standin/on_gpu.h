/* The tensors of a convolution in the stand-in's memory, and calls of it. */
#ifndef TEST_STANDIN_ON_GPU_H
#define TEST_STANDIN_ON_GPU_H

#include "tests/standin/gpu.h"
#include "tests/support/placed.h"

struct on_gpu {
    const struct test_gpu *gpu;
    struct placed placed;
    unsigned long long memory[PLACED];
};

/* In memory of the current context, which is the device's, with what the boxes hold. */
void on_gpu_put(struct on_gpu *g, const struct test_gpu *gpu, struct conv_case *c, int device);
/* The boxes of the outputs get what the device holds, once it is at rest. */
void on_gpu_take_back(struct on_gpu *g);
void on_gpu_free(struct on_gpu *g);

/* Takes the outputs back: 1 if all that are asked for are as expected. */
int on_gpu_is_right(struct on_gpu *g, const struct conv_expected *e);

#endif
