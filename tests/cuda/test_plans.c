/* Real cuDNN plans every layer of the lists in bench/problems for four GPUs, none of which need be
 * here: it takes the descriptors, offers engines, and plans come out that fit the workspace and are
 * restored from their JSON in a new process.
 *
 * A tenth of the cases, drawn by the seed; with CONVOP_TEST_SCALE all of them. What cuDNN refuses
 * is listed with its reason and the row that runs it instead. */
#include <glob.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/operator/convolution/cuda/module.h"
#include "src/operator/convolution/select.h"
#include "tests/cuda/planning.h"
#include "tests/support/rng.h"

enum { SKIPPED = 77 };

static const enum direction directions[] = {FWD_D, FWD_B, BWD_D, BWD_W};
#define NUM_WAYS 4

static const enum type types[] = {F32, F16, BF16};

struct counts {
    int cases, accepted, planned, refused, wrong;
};

/* A case by what names it. */
struct one {
    const struct cvp_gpu *gpu;
    const char *gpu_name, *text;
    struct descriptor d;
    enum direction direction;
    enum type type;
    enum tag tag;
};

static void print_case(const struct one *c)
{
    printf("%s %s %s %s %s", c->gpu_name, direction_name(c->direction), type_name(c->type),
           tag_name(c->tag), c->text);
}

/* cuDNN's reason, the last error, and which row runs the problem then. */
static void tell_refusal(const convop_conv_problem *p, char *text, size_t size)
{
    const struct conv_terms terms = {.mode = CVP_AUTOTUNE_OFF};
    const convop_context *context;
    char reason[512];
    struct conv_plan plan;
    snprintf(reason, sizeof reason, "%s", convop_last_error());
    if (cvp_context_get(NULL, &context) != CONVOP_OK) return;
    cvp_conv_plan_start(&plan, p, &terms, context);
    if (cvp_conv_select(&plan, NULL) == CONVOP_OK)
        snprintf(text, size, "%s; %s runs it", reason, plan.impl->name);
    else
        snprintf(text, size, "%s; nothing runs it", reason);
    cvp_conv_plan_end(&plan);
}

/* Writes what another process is to find again. */
static void plan_case(const struct cvp_cudnn *cudnn, const struct one *c, FILE *kept,
                      struct counts *n)
{
    convop_conv_problem p;
    struct conv_cudnn_plan plan;
    int count;
    n->cases++;
    if (make_problem(&c->d, c->direction, c->type, c->tag, c->gpu, &p) != CONVOP_OK) {
        n->wrong++;
        printf("WRONG ");
        print_case(c);
        printf(": %s\n", convop_last_error());
        return;
    }
    struct cvp_backend b = cvp_backend_begin(cudnn);
    (void)cvp_conv_cudnn_graph(&b, &p);
    n->accepted += b.status == CONVOP_OK;
    cvp_backend_end(&b);
    convop_status status = cvp_conv_cudnn_offer(cudnn, c->gpu, &p, 1, &plan, &count);
    if (status == CONVOP_OK) {
        n->planned++;
        fprintf(kept, "%s %d %d %d %lld %zu\n%s\n%s\n", c->gpu_name, (int)c->direction,
                (int)c->type, (int)c->tag, (long long)plan.engine, plan.workspace, c->text,
                plan.json);
        cvp_conv_cudnn_plan_end(&plan);
        return;
    }
    char refusal[1024] = "";
    tell_refusal(&p, refusal, sizeof refusal);
    n->refused++;
    n->wrong += status != CONVOP_E_UNSUPPORTED;
    printf("refused ");
    print_case(c);
    printf(": %s\n", refusal);
}

/* An activation of float32 without a bias: cuDNN 9.19 has only engines for it that are compiled
 * when they are first used, and refuses them where there is no driver. */
static int refusals_are_told(const struct cvp_cudnn *cudnn, const struct cvp_gpu *gpu)
{
    const char *why;
    char text[1024] = "";
    struct descriptor d;
    struct descriptor_error error;
    convop_conv_problem p;
    struct conv_cudnn_plan plan;
    int count;
    if (!descriptor_parse("mb1ic8ih8oc8kh3ph1", &d, &error) ||
        make_problem(&d, FWD_D, F32, NCHW, gpu, &p) != CONVOP_OK)
        return 0;
    p.activation = CONVOP_ACTIVATION_RELU;
    const convop_status status = cvp_conv_cudnn_offer(cudnn, gpu, &p, 1, &plan, &count);
    if (status == CONVOP_OK) {
        printf("an activation without a bias is not refused here\n");
        cvp_conv_cudnn_plan_end(&plan);
        return 1;
    }
    tell_refusal(&p, text, sizeof text);
    printf("refused on purpose: %s\n", text);
    return strstr(text, "cuDNN: no engine runs it: ") &&
           strstr(text, cvp_cuda_has_kernels(&why) ? "; gemm runs it" : "; nothing runs it");
}

/* A line of a list that is a problem. */
static int read_problem(char *line, struct one *c)
{
    struct descriptor_error error;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#' || line[0] == '-') return 0;
    c->text = line;
    return descriptor_parse(line, &c->d, &error);
}

static void plan_list(const struct cvp_cudnn *cudnn, const struct cvp_gpu gpus[], const char *path,
                      struct rng *r, int percent, FILE *kept, struct counts *n)
{
    char line[1024];
    struct one c;
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (!read_problem(line, &c)) continue;
        for (int i = 0; i < NUM_GPUS * NUM_WAYS * 3 * NUM_TAGS; i++) {
            if (!rng_chance(r, percent)) continue;
            c.gpu = &gpus[i % NUM_GPUS];
            c.gpu_name = gpu_names[i % NUM_GPUS];
            c.direction = directions[i / NUM_GPUS % NUM_WAYS];
            c.type = types[i / NUM_GPUS / NUM_WAYS % 3];
            c.tag = (enum tag)(i / NUM_GPUS / NUM_WAYS / 3);
            plan_case(cudnn, &c, kept, n);
        }
    }
    fclose(f);
}

/* ---- the other process ------------------------------------------------------------------------
 */

static int restore_one(const struct cvp_cudnn *cudnn, const struct cvp_gpu gpus[], const char *head,
                       const char *text, const char *json)
{
    char name[16];
    int direction, type, tag, g = 0;
    long long engine;
    size_t workspace;
    struct descriptor d;
    struct descriptor_error error;
    convop_conv_problem p;
    struct conv_cudnn_plan plan;
    if (sscanf(head, "%15s %d %d %d %lld %zu", name, &direction, &type, &tag, &engine,
               &workspace) != 6 ||
        !descriptor_parse(text, &d, &error))
        return 0;
    while (g < NUM_GPUS - 1 && strcmp(name, gpu_names[g]) != 0) g++;
    if (make_problem(&d, (enum direction)direction, (enum type)type, (enum tag)tag, &gpus[g], &p) !=
            CONVOP_OK ||
        cvp_conv_cudnn_restore(cudnn, &gpus[g], &p, json, &plan) != CONVOP_OK) {
        printf("not restored: %s %s: %s\n", head, text, convop_last_error());
        return 0;
    }
    /* The JSON names engine and knobs. */
    const int same =
        plan.engine == engine && plan.workspace == workspace && strcmp(plan.json, json) == 0;
    if (!same) printf("restored otherwise: %s %s\n%s\n%s\n", head, text, json, plan.json);
    cvp_conv_cudnn_plan_end(&plan);
    return same;
}

static int restore_all(const struct cvp_cudnn *cudnn, const struct cvp_gpu gpus[], const char *path)
{
    static char head[256], text[1024], json[1 << 18];
    int n = 0, good = 0;
    FILE *f = fopen(path, "r");
    if (!f) return 1;
    while (fgets(head, sizeof head, f) && fgets(text, sizeof text, f) &&
           fgets(json, sizeof json, f)) {
        head[strcspn(head, "\n")] = text[strcspn(text, "\n")] = json[strcspn(json, "\n")] = '\0';
        n++;
        good += restore_one(cudnn, gpus, head, text, json);
    }
    fclose(f);
    printf("%d plans restored in a new process, %d as they were\n", n, good);
    return n == 0 || good < n;
}

/* -----------------------------------------------------------------------------------------------
 */

static int restores_in_a_new_process(const char *path)
{
    int status = 1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_cuda_plans", path, (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static int plan_all(const struct cvp_cudnn *cudnn, const struct cvp_gpu gpus[])
{
    struct rng r = {test_seed(1)};
    struct counts n = {0};
    char path[] = "/tmp/convop-plans-XXXXXX";
    const int percent = test_scaled(1) > 1 ? 100 : 10;
    glob_t lists;
    const int fd = mkstemp(path);
    FILE *kept = fd < 0 ? NULL : fdopen(fd, "w");
    if (!kept || glob(TEST_PROBLEMS "/*.txt", 0, NULL, &lists) != 0) return 1;
    for (size_t i = 0; i < lists.gl_pathc; i++)
        plan_list(cudnn, gpus, lists.gl_pathv[i], &r, percent, kept, &n);
    globfree(&lists);
    fclose(kept);
    printf("%d cases: %d accepted, %d planned, %d refused, %d wrong\n", n.cases, n.accepted,
           n.planned, n.refused, n.wrong);
    const int restored = restores_in_a_new_process(path);
    unlink(path);
    return n.cases == 0 || n.accepted < n.cases || n.wrong > 0 || n.planned * 100 < n.cases * 95 ||
           !restored;
}

int main(int argc, char **argv)
{
    const char *why;
    struct cvp_gpu gpus[NUM_GPUS];
    const convop_context *context; /* the process's stays */
    const struct cvp_cudnn *cudnn = cvp_cudnn_get(&why);
    ignore_foreign_leaks();
    if (cvp_context_get(NULL, &context) != CONVOP_OK) return 1;
    const unsigned long long before = cvp_alloc_live();
    if (!cudnn) {
        printf("SKIP: no cuDNN: %s\n", why);
        return SKIPPED;
    }
    for (int i = 0; i < NUM_GPUS; i++)
        if (!read_gpu(cudnn, gpu_names[i], &gpus[i])) return 1;
    const int wrong = argc > 1 ? restore_all(cudnn, gpus, argv[1])
                               : !refusals_are_told(cudnn, &gpus[0]) || plan_all(cudnn, gpus);
    for (int i = 0; i < NUM_GPUS; i++) cvp_gpu_absent_end(cudnn, &gpus[i]);
    const unsigned long long live = cvp_alloc_live() - before;
    if (live) printf("%llu objects were not freed\n", live);
    return wrong || live;
}
