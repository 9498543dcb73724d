/* Convolutions on the first GPU. */
#include "tests/gpu/gpu.h"

#include "src/cuda/device.h"

struct gpu gpu;

void gpu_check(unsigned result, const char *what)
{
    if (cvp_driver_status(gpu.driver, result, what) == CONVOP_OK) return;
    fprintf(stderr, "%s\n", convop_last_error());
    exit(1);
}

int gpu_begin(void)
{
    const char *why;
    const struct cvp_gpu *first = cvp_gpu_get(0, &why);
    if (!first) {
        printf("skipped: no GPU: %s\n", why);
        return GPU_SKIPPED;
    }
    gpu.driver = cvp_driver_get(&why);
    printf("%s, compute capability %d.%d\n", first->name, first->major, first->minor);
    GPU(primary_retain(&gpu.context, first->device));
    GPU(context_push(gpu.context));
    GPU(stream_create(&gpu.stream, CVP_CU_STREAM_NON_BLOCKING));
    return 0;
}

void gpu_end(void)
{
    const char *why;
    struct CUctx_st *left;
    GPU(stream_destroy(gpu.stream));
    (void)convop_trim();
    GPU(context_pop(&left));
    GPU(primary_release(cvp_gpu_get(0, &why)->device));
}

void gpu_put(struct gpu_conv *g, struct conv_case *c, int aligned)
{
    g->placed.c = c;
    for (int i = 0; i < PLACED; i++) {
        const size_t bytes = placed_bytes(c, i);
        DLTensor *t = &g->placed.at[i];
        *t = placed_box(c, i)->tensor;
        if (aligned) t->byte_offset = 0;
        GPU(mem_alloc(&g->memory[i], bytes ? bytes + t->byte_offset : 1));
        t->data = (void *)(uintptr_t)g->memory[i];
        t->device = (DLDevice){kDLCUDA, 0};
        if (bytes)
            GPU(copy_to_device(g->memory[i] + t->byte_offset, placed_elements(c, i), bytes, NULL));
    }
    GPU(stream_synchronize(NULL)); /* the own stream waits for nothing of the default one */
}

void gpu_free(struct gpu_conv *g)
{
    for (int i = 0; i < PLACED; i++) GPU(mem_free(g->memory[i]));
}

int gpu_is_right(struct gpu_conv *g, const struct conv_expected *e)
{
    struct conv_case *c = g->placed.c;
    GPU(context_synchronize());
    int good = 1;
    for (int i = 0; i < 4; i++) {
        const int which = placed_which((convop_conv_direction)i);
        const size_t bytes = placed_bytes(c, which);
        if (bytes)
            GPU(copy_to_host(placed_elements(c, which),
                             g->memory[which] + g->placed.at[which].byte_offset, bytes, NULL));
        GPU(stream_synchronize(NULL));
        if (placed_is_asked(c, i) && !conv_case_matches(c, e, i)) good = 0;
        if (!box_canaries_whole(placed_box(c, which)))
            good = 0, printf("output %d: written beside its elements\n", i);
    }
    return good;
}

int gpu_rows(struct gpu_conv *g, convop_conv_direction direction,
             convop_conv_row rows[CONV_CASE_MAX_ROWS])
{
    const DLTensor *at = g->placed.at;
    const int n = conv_rows(&g->placed.c->params, direction,
                            &at[direction == CONVOP_BWD_D ? P_DIFF_SRC : P_SRC],
                            &at[direction == CONVOP_BWD_W ? P_DIFF_WEIGHTS : P_WEIGHTS],
                            &at[direction == CONVOP_FWD ? P_DST : P_DIFF_DST], rows);
    if (n >= 0) return n;
    printf("the rows are not told: %s\n", convop_last_error());
    return 0;
}

convop_exec gpu_exec(struct CUstream_st *stream)
{
    convop_exec x = CONVOP_EXEC_INIT;
    x.stream = stream;
    return x;
}
