/* Convolutions on the first GPU, with streams and memory by convop's own table of the driver. What
 * the tests here know of a GPU is what a host program knows: they run on a real one, and, by the
 * settings of the libraries alone, on tests/standin.
 *
 * A call of the driver that fails ends the process, with the driver's own words. */
#ifndef TEST_GPU_H
#define TEST_GPU_H

#include "src/cuda/driver.h"
#include "tests/support/placed.h"

#define GPU_SKIPPED 77

struct gpu {
    const struct cvp_driver *driver;
    struct CUctx_st *context;   /* the primary one; current from begin to end */
    struct CUstream_st *stream; /* of the test, in no order with the default one */
};
extern struct gpu gpu;

/* 0, or GPU_SKIPPED, and it has printed why: the code to exit with. */
int gpu_begin(void);
void gpu_end(void);

void gpu_check(unsigned result, const char *what);
#define GPU(call) gpu_check(gpu.driver->call, #call)

struct gpu_conv {
    struct placed placed;
    unsigned long long memory[PLACED];
};

/* To memory of the GPU, with what the boxes hold. At the boxes' own offsets, which no vector need
 * fit; `aligned`: where cuDNN takes them. */
void gpu_put(struct gpu_conv *g, struct conv_case *c, int aligned);
void gpu_free(struct gpu_conv *g);

/* Waits for the GPU, and brings the outputs back to their boxes: 1 if all that are asked for are as
 * expected, and nothing beside elements is written. */
int gpu_is_right(struct gpu_conv *g, const struct conv_expected *e);

/* The rows of a direction that apply; how many. */
int gpu_rows(struct gpu_conv *g, convop_conv_direction direction,
             convop_conv_row rows[CONV_CASE_MAX_ROWS]);

/* A call on that stream; NULL: on the default one. */
convop_exec gpu_exec(struct CUstream_st *stream);

#endif
