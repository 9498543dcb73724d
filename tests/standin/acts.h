/* Acts on a device that are committed each in a child of its own, which the stand-in ends with a
 * sentence where the act is wrong. */
#ifndef TEST_STANDIN_ACTS_H
#define TEST_STANDIN_ACTS_H

#include "tests/standin/gpu.h"

#define BYTES 4096

/* What most acts need: the driver and cuDNN, a context, two streams, an event, memory. */
extern struct acting {
    struct test_gpu gpu;
    struct CUctx_st *context;
    struct CUstream_st *one, *two;
    struct CUevent_st *event;
    unsigned long long memory, other; /* BYTES each */
} x;
#define D (x.gpu.driver)

void fill_one(void); /* `memory`, on stream `one` */
/* Filling and copying `memory` to `other`, as a graph. */
struct CUgraphExec_st *capture(void);

struct act {
    const char *name;
    void (*run)(void);
    const char *says; /* a part of the sentence; NULL: it is right; "": the signal of a fault */
};
#define RIGHT(act)                                                                                 \
    {                                                                                              \
#act, act, NULL                                                                            \
    }
#define WRONG(act, says)                                                                           \
    {                                                                                              \
#act, act, says                                                                            \
    }

/* The code to exit with. */
int commit_acts(const char *name, const struct act acts[], size_t count);

#endif
