/* The CUDA driver and cuDNN: found, refused, forked. Each is opened once a process, so every case
 * runs in a child of its own; the parent opens nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/info.h"
#include "convop/settings.h"
#include "src/cuda/cudnn.h"
#include "src/cuda/device.h"
#include "tests/support/child_check.h"

static const char *why_of(const char *setting, int *found)
{
    const char *why = "";
    *found = strcmp(setting, "cuda_library") == 0 ? cvp_driver_get(&why) != NULL
                                                  : cvp_cudnn_get(&why) != NULL;
    return why;
}

struct refusal {
    const char *setting, *value, *why;
};

static int refuses(void *arg)
{
    const struct refusal *r = arg;
    int found;
    CHECK(convop_set(r->setting, r->value) == CONVOP_OK);
    const char *why = why_of(r->setting, &found);
    CHECK(!found);
    if (!strstr(why, r->why)) fprintf(stderr, "%s=%s: %s\n", r->setting, r->value, why);
    CHECK(strstr(why, r->why));
    /* What was first used counts. */
    CHECK(convop_set(r->setting, "") == CONVOP_OK);
    CHECK(strstr(why_of(r->setting, &found), r->why) && !found);
    return RIGHT;
}

static void a_library_that_is_not_used_says_why(void **state)
{
    (void)state;
    static struct refusal refusals[] = {
        {"cuda_library", "none", "the setting cuda_library is \"none\""},
        {"cuda_library", "/nonexistent/libcuda.so", "/nonexistent/libcuda.so"},
        {"cuda_library", "libm.so.6", "has no cuInit"},
        {"cudnn_library", "none", "the setting cudnn_library is \"none\""},
        {"cudnn_library", "/nonexistent/libcudnn.so", "/nonexistent/libcudnn.so"},
        {"cudnn_library", "libm.so.6", "has no cudnnGetVersion"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        run_child(refuses, &refusals[i]);
}

static int without_cuda(void *arg)
{
    (void)arg;
    static const char *const items[] = {"cuda driver", "cudnn", "gpu"};
    convop_info_item item = {.struct_size = sizeof item};
    const char *why;
    CHECK(convop_set("cuda_library", "/nonexistent/libcuda.so.1") == CONVOP_OK);
    CHECK(convop_set("cudnn_library", "none") == CONVOP_OK);
    CHECK(cvp_gpu_count(&why) == 0 && strstr(why, "/nonexistent/libcuda.so.1"));
    CHECK(!cvp_gpu_get(0, &why) && strstr(why, "/nonexistent/libcuda.so.1"));
    for (size_t i = 0, seen = 0; convop_info(i, &item) == CONVOP_OK || seen < 3; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(item.name, items[k]) == 0) {
                CHECK(strcmp(item.value, "none") == 0 && item.why[0]);
                seen++;
            }
    return RIGHT;
}

static void a_machine_without_cuda_says_so(void **state)
{
    (void)state;
    run_child(without_cuda, NULL);
}

/* The driver of the machine, if it has one; else the loader's reason. */
static int system_driver(void *arg)
{
    (void)arg;
    const char *why;
    const struct cvp_driver *driver = cvp_driver_get(&why);
    const int gpus = cvp_gpu_count(&why);
    if (!driver) {
        CHECK(gpus == 0 && why[0]);
        printf("no GPU: %s\n", why);
        return ABSENT;
    }
    CHECK(gpus == 0 || cvp_gpu_get(gpus - 1, &why)->major > 0);
    CHECK(!cvp_gpu_get(gpus, &why) && !cvp_gpu_get(-1, &why));
    return RIGHT;
}

static void the_systems_driver_is_asked_for_its_gpus(void **state)
{
    (void)state;
    run_child(system_driver, NULL);
}

static int system_cudnn(void *arg)
{
    (void)arg;
    char text[256], path[256];
    struct cvp_text value = cvp_text_in(text, sizeof text);
    struct cvp_text where = cvp_text_in(path, sizeof path);
    const char *why;
    const struct cvp_cudnn *cudnn = cvp_cudnn_get(&why);
    if (!cudnn) {
        printf("no cuDNN: %s\n", why);
        return ABSENT;
    }
    CHECK(cudnn->version() >= CVP_CUDNN_OLDEST);
    cvp_cudnn_describe(&value, &where);
    CHECK(text[0] == '9' && strstr(path, "libcudnn"));
    /* A forked child still has it. */
    CHECK(cvp_cudnn_get(&why) == cudnn);
    return RIGHT;
}

static void the_systems_cudnn_is_found(void **state)
{
    (void)state;
    run_child(system_cudnn, NULL);
}

static void *opens(void *arg)
{
    const char *why;
    *(const void **)arg = cvp_cudnn_get(&why);
    return NULL;
}

static int race(void *arg)
{
    (void)arg;
    pthread_t threads[4];
    const void *got[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, opens, &got[i]) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK(got[i] == got[0]);
    return RIGHT;
}

static void threads_may_open_it_together(void **state)
{
    (void)state;
    run_child(race, NULL);
}

int main(void)
{
    unsetenv("CONVOP_CUDA_LIBRARY");
    unsetenv("CONVOP_CUDNN_LIBRARY");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_not_used_says_why),
        cmocka_unit_test(a_machine_without_cuda_says_so),
        cmocka_unit_test(the_systems_driver_is_asked_for_its_gpus),
        cmocka_unit_test(the_systems_cudnn_is_found),
        cmocka_unit_test(threads_may_open_it_together),
    };
    return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
