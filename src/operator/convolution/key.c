/* Keys of the tuning cache. */
#include "src/operator/convolution/key.h"

#include "convop/version.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "src/common/cpu.h"
#include "src/common/text.h"
#include "src/cuda/device.h"
#include "src/operator/convolution/row_set.h"

/* ---- device ------------------------------------------------------------------------------------
 * The CPU's name, the instruction set in use, bytes of the caches. */

static char devices[CVP_ISA_COUNT][192];
static pthread_once_t devices_once = PTHREAD_ONCE_INIT;

static void name_devices(void)
{
    const struct cvp_cpu *cpu = cvp_cpu();
    for (int isa = 0; isa < CVP_ISA_COUNT; isa++) {
        struct cvp_text t = cvp_text_in(devices[isa], sizeof devices[isa]);
        cvp_text_put(&t, "cpu=");
        cvp_text_put(&t, cpu->name);
        cvp_text_put(&t, ";isa=");
        cvp_text_put(&t, cvp_isa_name((enum cvp_isa)isa));
        cvp_text_put_number(&t, ";l1d=", cpu->l1d);
        cvp_text_put_number(&t, ";l2=", cpu->l2);
        cvp_text_put_number(&t, ";l3=", cpu->l3);
        cvp_text_one_line(devices[isa]);
    }
}

static const char *device_of(int isa)
{
    pthread_once(&devices_once, name_devices);
    return devices[isa >= 0 && isa < CVP_ISA_COUNT ? isa : 0];
}

/* ---- software ----------------------------------------------------------------------------------
 * The library's version, and the rows of all directions that exist now: one text, so that a record
 * can be told to be this process's without knowing its direction. */

static void put_software(struct cvp_text *t, const struct conv_rows *rows)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t identity = cvp_conv_rows_identity(rows);
    char hex[17] = "";
    for (int i = 0; i < 16; i++) hex[i] = digits[identity >> (60 - 4 * i) & 15];
    cvp_text_put(t, "convop=");
    cvp_text_put(t, convop_version_string());
    cvp_text_put(t, ";rows=");
    cvp_text_put(t, hex);
}

/* With the built-in rows alone it is always the same. */
static char builtin[CONV_SOFTWARE];
static pthread_once_t builtin_once = PTHREAD_ONCE_INIT;

static void name_builtin(void)
{
    struct cvp_text t = cvp_text_in(builtin, sizeof builtin);
    put_software(&t, &cvp_conv_builtin_rows);
}

/* In text[], or elsewhere for as long as the process lives. */
static const char *software_of(const struct conv_rows *rows, const struct cvp_gpu *gpu,
                               char text[CONV_SOFTWARE])
{
    if (rows == &cvp_conv_builtin_rows && !gpu) {
        pthread_once(&builtin_once, name_builtin);
        return builtin;
    }
    struct cvp_text t = cvp_text_in(text, CONV_SOFTWARE);
    put_software(&t, rows);
    if (gpu) cvp_gpu_describe_software(gpu, &t);
    return text;
}

void cvp_tune_name_cpu(void)
{
    char software[CONV_SOFTWARE];
    (void)device_of(0);
    (void)software_of(&cvp_conv_builtin_rows, NULL, software);
}

/* GPUs of a kind have one key. */
static int is_like_an_earlier_one(int ordinal)
{
    const char *why;
    for (int i = 0; i < ordinal; i++)
        if (strcmp(cvp_gpu_get(i, &why)->key, cvp_gpu_get(ordinal, &why)->key) == 0) return 1;
    return 0;
}

void cvp_tune_identity(char *lines, size_t size)
{
    enum cvp_isa isa;
    const char *why;
    char software[CONV_SOFTWARE];
    struct cvp_text t = cvp_text_in(lines, size);
    if (cvp_isa_in_use(&isa) != CONVOP_OK) isa = cvp_cpu()->isa;
    const struct conv_rows *rows = cvp_conv_rows_acquire();
    cvp_text_add(&t, "%s\t%s\n", device_of((int)isa), software_of(rows, NULL, software));
    const int gpus = cvp_gpu_count(&why);
    for (int i = 0; i < gpus; i++) {
        const struct cvp_gpu *gpu = cvp_gpu_get(i, &why);
        if (is_like_an_earlier_one(i)) continue;
        cvp_text_add(&t, "%s\t%s\n", gpu->key, software_of(rows, gpu, software));
    }
    cvp_conv_rows_release(rows);
}

/* ---- problem --------------------------------------------------------------------------------- */

/* The next power of two, so that batches above the one below it share a key. */
static int64_t bucket_of(int64_t mb)
{
    int64_t bucket = 1;
    while (bucket < mb && bucket <= INT64_MAX / 2) bucket *= 2;
    return bucket;
}

static const char *const maths[] = {[CONVOP_MATH_STRICT] = "strict",
                                    [CONVOP_MATH_DEFAULT] = "default",
                                    [CONVOP_MATH_TF32] = "tf32"};

static void put_problem(const struct conv_plan *plan, char *text, size_t size)
{
    const convop_conv_problem *p = &plan->given;
    convop_conv_problem shared;
    const int has_bucket = cvp_setting_int_or(CVP_SETTING_TUNE_BATCH_BUCKET, 0);
    const int is_on_cpu = !cvp_conv_is_on_gpu(p);
    if (has_bucket) {
        shared = *p;
        shared.mb = bucket_of(p->mb);
        p = &shared;
    }
    struct cvp_text t = cvp_text_in(text, size);
    cvp_text_put(&t, cvp_conv_problem_direction(p));
    cvp_text_put(&t, ",");
    cvp_conv_problem_put(&t, p);
    if (plan->terms.constants && is_on_cpu) cvp_text_put(&t, "+const");
    if (has_bucket) cvp_text_put(&t, "+bucket");
    if (is_on_cpu) cvp_text_put_number(&t, ",threads=", p->threads);
    cvp_text_put_number(&t, is_on_cpu ? ";deterministic=" : ",deterministic=", p->deterministic);
    cvp_text_put(&t, ";math=");
    cvp_text_put(&t, maths[p->math]);
    cvp_text_put_number(&t, ";workspace=", (int64_t)p->workspace_limit);
}

struct cvp_tune_key cvp_conv_key(const struct conv_plan *plan, struct conv_key *texts)
{
    const struct cvp_gpu *gpu = plan->given.gpu;
    put_problem(plan, texts->problem, sizeof texts->problem);
    return (struct cvp_tune_key){gpu ? gpu->key : device_of(plan->given.isa),
                                 software_of(plan->rows, gpu, texts->software), texts->problem};
}
