/* What choosing a row costs where the tuning cache knows the problem: the stage "plan" of the first
 * conv_forward of each layer in a new process, once the cache's file is loaded, as it is by a first
 * call: of an image of 3x3 pixels.
 *
 *     selection_cost [--limit=MICROSECONDS] FILE...     batch files as `convop bench` reads them
 *
 * It fills a cache of its own, then starts itself anew many times: each process runs the layers one
 * after the other, as a network calls them, in one layout. Of each layer the median over the
 * processes; exit 1 if one is above the limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "convop/convop.h"
#include "tools/problems/problems.h"
#include "tools/problems/query.h"

#define PROCESSES  41
#define MAX_LAYERS 256

static void check(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "selection_cost: %s: %s\n", what, convop_last_error());
    exit(2);
}

static void read_files(struct problem_list *list, char **files)
{
    struct problem_error error;
    problems_init(list);
    for (; *files; files++)
        if (!problems_batch(list, *files, &error)) {
            fprintf(stderr, "selection_cost: %s\n", error.text);
            exit(2);
        }
    check(problems_finish(list, &error) && list->count <= MAX_LAYERS, "the files");
}

static void query_of(const struct problem *p, enum tag tag, struct query *q)
{
    query_make(&p->descriptor, &p->settings.post_ops, FWD_D, F32, tag, q);
}

/* ---- in each process: microseconds of each layer --------------------------------------------- */

/* Written to, as a network's was before its first run. */
static void give_memory(DLTensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= (size_t)t->shape[i];
    t->data = malloc(n * sizeof(float));
    check(t->data != NULL, "no memory");
    memset(t->data, 0, n * sizeof(float));
}

static double planned_us(void)
{
    convop_stage_time time = {.struct_size = sizeof time};
    check(convop_stage_read(CONVOP_STAGE_PLAN, &time) == CONVOP_OK, "stages");
    return time.ms * 1e3;
}

/* Which makes the process read the file. */
static void run_first(void)
{
    int64_t image[] = {1, 1, 3, 3}, result[] = {1, 1, 1, 1};
    float zeros[3][9] = {{0}};
    DLTensor t[3];
    for (int i = 0; i < 3; i++)
        t[i] = (DLTensor){.data = zeros[i],
                          .device = {kDLCPU, 0},
                          .ndim = 4,
                          .dtype = {kDLFloat, 32, 1},
                          .shape = i < 2 ? image : result};
    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(3, 3);
    params.num_filter = 1;
    params.no_bias = 1;
    check(conv_forward(&params, &t[0], &t[1], NULL, &t[2], CONVOP_REQ_WRITE, NULL) == CONVOP_OK,
          "a first call");
}

static void run_layers(const struct problem_list *list, enum tag tag)
{
    static struct query queries[MAX_LAYERS];
    for (size_t i = 0; i < list->count; i++) {
        struct query *q = &queries[i];
        query_of(&list->at[i], tag, q);
        give_memory(&q->src), give_memory(&q->weights), give_memory(&q->dst);
    }
    run_first();
    convop_stages_collect(1);
    for (size_t i = 0; i < list->count; i++) {
        struct query *q = &queries[i];
        const double before = planned_us();
        check(conv_forward(&q->params, &q->src, &q->weights, NULL, &q->dst, CONVOP_REQ_WRITE,
                           NULL) == CONVOP_OK,
              list->at[i].text);
        printf("%.3f\n", planned_us() - before);
    }
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void fill_cache(const struct problem_list *list, enum tag tag)
{
    convop_tune_options options = CONVOP_TUNE_OPTIONS_INIT;
    options.budget_ms = 1; /* whichever wins */
    for (size_t i = 0; i < list->count; i++) {
        struct query q;
        query_of(&list->at[i], tag, &q);
        size_t count = 0;
        check(convop_conv_tune(&q.params, CONVOP_FWD, &q.src, &q.weights, &q.dst, NULL, &options,
                               NULL, &count) == CONVOP_OK,
              list->at[i].text);
    }
}

static void start(char **argv, const char *tag, size_t layers, double *us)
{
    int ends[2], status;
    check(pipe(ends) == 0, "pipe");
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0) {
        setenv("SELECTION_COST", tag, 1);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]), close(ends[1]);
        execv("/proc/self/exe", argv);
        _exit(2);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    for (size_t i = 0; i < layers; i++) check(fscanf(out, "%lf", &us[i]) == 1, "a process");
    fclose(out);
    check(waitpid(pid, &status, 0) == pid && status == 0, "a process");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Layers above the limit. */
static int measure(const struct problem_list *list, enum tag tag, char **argv, double limit)
{
    static double us[PROCESSES][MAX_LAYERS];
    int above = 0;
    for (int i = 0; i < PROCESSES; i++) start(argv, tag_name(tag), list->count, us[i]);
    for (size_t l = 0; l < list->count; l++) {
        double of[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) of[i] = us[i][l];
        qsort(of, PROCESSES, sizeof of[0], by_value);
        printf("%s %-50s %7.2f %7.2f\n", tag_name(tag), list->at[l].text, of[0], of[PROCESSES / 2]);
        above += of[PROCESSES / 2] > limit;
    }
    return above;
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/selection_cost.XXXXXX", file[64];
    struct problem_list list;
    double limit = 1e9;
    int files = 1, above = 0;
    if (argc > 1 && sscanf(argv[1], "--limit=%lf", &limit) == 1) files = 2;
    read_files(&list, argv + files);
    const char *role = getenv("SELECTION_COST");
    if (role) {
        run_layers(&list, (enum tag)find_tag(role));
        return 0;
    }
    check(mkdtemp(dir) != NULL, "a folder");
    setenv("CONVOP_CACHE_DIR", dir, 1);
    for (int tag = NCHW; tag <= NHWC; tag++) fill_cache(&list, (enum tag)tag);
    printf("microseconds of the first call's plan: minimum, median of %d processes\n", PROCESSES);
    for (int tag = NCHW; tag <= NHWC; tag++) above += measure(&list, (enum tag)tag, argv, limit);
    snprintf(file, sizeof file, "%s/tuning.tsv", dir);
    unlink(file);
    rmdir(dir);
    if (above) printf("%d above %g\n", above, limit);
    return above > 0;
}
