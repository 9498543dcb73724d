/* What one process measures on a GPU is what the next one begins with: two processes, the second of
 * which finds the records of the first and measures nothing. Both say how long their first call
 * took.
 *
 *     test_gpu_tuning          runs the two, with a folder of its own
 *     test_gpu_tuning first    one of them, in CONVOP_CACHE_DIR
 *     test_gpu_tuning next */
#include <time.h>

#include "convop/convop.h"
#include "tests/gpu/gpu.h"
#include "tests/support/child.h"
#include "tests/support/tune.h"

/* ---- one process ----------------------------------------------------------------------------- */

/* What lines of verbose 1 say. */
static int begun, measured, cached;

static void listen(void *user, const char *line)
{
    (void)user;
    if (strstr(line, ",tune,Convolution,")) begun += strstr(line, ",begin,") != NULL;
    if (!strstr(line, ",exec,")) return;
    measured += strstr(line, ",measured,") != NULL;
    cached += strstr(line, ",cached,") != NULL;
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Forward and two gradients; the first call is from the enqueuing to its result. */
static int run(const char *which)
{
    const struct conv_size size = {
        .axes = 2, .type = BOX_F32, .mb = 1, .ic = 32, .oc = 32, .g = 1, .i = 14, .k = 3, .p = 1};
    const convop_exec x = gpu_exec(NULL);
    struct conv_case c;
    struct conv_expected e;
    struct gpu_conv g;
    conv_case_fixed(&c, &size, 1, 1);
    c.requests[2] = CONVOP_REQ_NULL; /* one row computes it */
    conv_case_expect(&c, &e);
    gpu_put(&g, &c, 1);
    const double begin = now_ms();
    TUNE_CHECK(placed_forward(&g.placed, &x) == CONVOP_OK);
    GPU(stream_synchronize(NULL));
    printf("%s process: the first call took %.1f ms\n", which, now_ms() - begin);
    TUNE_CHECK(placed_backward(&g.placed, &x) == CONVOP_OK);
    const int good = gpu_is_right(&g, &e);
    gpu_free(&g);
    conv_expected_free(&e);
    conv_case_destroy(&c);
    return good;
}

static int one_process(const char *which)
{
    const int is_first = strcmp(which, "first") == 0;
    convop_set_log_sink(listen, NULL);
    TUNE_CHECK(convop_set("verbose", "1") == CONVOP_OK);
    TUNE_CHECK(convop_set("autotune", "limited_workspace") == CONVOP_OK);
    TUNE_CHECK(convop_set("math", "strict") == CONVOP_OK);
    const int code = gpu_begin();
    if (code) return code;
    const size_t before = tune_count();
    TUNE_CHECK(before == (is_first ? 0 : 3));
    TUNE_CHECK(run(which));
    TUNE_CHECK(tune_count() == 3);
    TUNE_CHECK(begun == (is_first ? 3 : 0));
    TUNE_CHECK(measured == (is_first ? 3 : 0));
    TUNE_CHECK(cached == (is_first ? 0 : 3));
    gpu_end();
    return 0;
}

/* ---- the two --------------------------------------------------------------------------------- */

static int start(void *which)
{
    alarm(600); /* compute-sanitizer takes its time */
    (void)execl("/proc/self/exe", "test_gpu_tuning", (const char *)which, (char *)NULL);
    perror("execl");
    return 1;
}

int main(int argc, char **argv)
{
    static char processes[][6] = {"first", "next"};
    int code = 0;
    if (argc > 1) return one_process(argv[1]);
    tune_make_folder();
    TUNE_CHECK(setenv("CONVOP_CACHE_DIR", tune_folder, 1) == 0);
    for (int i = 0; i < 2 && code == 0; i++) {
        fflush(stdout);
        code = test_reap(test_fork(start, processes[i]));
    }
    tune_remove_folder();
    return code;
}
