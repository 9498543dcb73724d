/* What tests of the stand-in do with a device: convop's table of the driver, streams, memory. The
 * first call that fails ends the process. */
#ifndef TEST_STANDIN_GPU_H
#define TEST_STANDIN_GPU_H

#include "src/cuda/cudnn.h"
#include "src/cuda/driver.h"
#include "tests/standin/open.h"

/* Of test_gpu_begin. */
struct test_gpu {
    const struct standin *standin;
    const struct cvp_driver *driver;
    const struct cvp_cudnn *cudnn;
};

static inline void test_gpu_check(int good, const char *what, int line)
{
    if (good) return;
    fprintf(stderr, "line %d: %s\n", line, what);
    exit(1);
}
#define MUST(call)     test_gpu_check((call) == 0, #call, __LINE__)
#define MUST_BE(truth) test_gpu_check((truth) != 0, #truth, __LINE__)

static inline struct test_gpu test_gpu_begin(void)
{
    const char *why;
    struct test_gpu t = {.standin = standin_open()};
    t.driver = cvp_driver_get(&why);
    test_gpu_check(t.driver != NULL, why, __LINE__);
    t.cudnn = cvp_cudnn_get(&why);
    test_gpu_check(t.cudnn != NULL, why, __LINE__);
    return t;
}

#endif
