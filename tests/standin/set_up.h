/* What tests of convolutions on the stand-in begin with: the driver and cuDNN, a context a device,
 * a small convolution. */
#ifndef TEST_STANDIN_SET_UP_H
#define TEST_STANDIN_SET_UP_H

#include "convop/convop.h"
#include "tests/standin/on_gpu.h"

struct set_up {
    struct test_gpu gpu;
    struct CUctx_st *contexts[STANDIN_DEVICES]; /* primary ones */
    int is_real;                                /* the cuDNN of the machine plans */
    int has_bias_gradient;                      /* there is a row for it */
};
extern struct set_up set_up;

/* First of all in main. Argument "real": see is_real. 0, or the code to exit with. */
int set_up_begin(int argc, char **argv);
/* Last: the code to exit with. */
int set_up_end(int failed);

/* Makes a context current; and what was current before it. */
void set_up_enter(struct CUctx_st *context);
void set_up_leave(void);

/* A small convolution with a workspace; all of it is asked for that there is a row for. */
void plain_make(struct conv_case *c, struct conv_expected *e, uint64_t seed);

struct CUstream_st *make_stream(void);
convop_exec on_stream(struct CUstream_st *stream);

#endif
