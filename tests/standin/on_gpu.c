/* Convolutions in the stand-in's memory. */
#include "tests/standin/on_gpu.h"

void on_gpu_put(struct on_gpu *g, const struct test_gpu *gpu, struct conv_case *c, int device)
{
    g->gpu = gpu;
    g->placed.c = c;
    for (int i = 0; i < PLACED; i++) {
        const size_t bytes = placed_bytes(c, i);
        MUST(gpu->driver->mem_alloc(&g->memory[i], bytes ? bytes : 1));
        gpu->standin->write(g->memory[i], placed_elements(c, i), bytes);
        DLTensor *t = &g->placed.at[i];
        *t = placed_box(c, i)->tensor;
        t->data = (void *)(uintptr_t)g->memory[i];
        t->byte_offset = 0;
        t->device = (DLDevice){kDLCUDA, device};
    }
}

void on_gpu_take_back(struct on_gpu *g)
{
    for (int i = 0; i < PLACED; i++)
        if (i == P_DST || i >= P_DIFF_SRC)
            g->gpu->standin->read(placed_elements(g->placed.c, i), g->memory[i],
                                  placed_bytes(g->placed.c, i));
}

void on_gpu_free(struct on_gpu *g)
{
    for (int i = 0; i < PLACED; i++) MUST(g->gpu->driver->mem_free(g->memory[i]));
}

int on_gpu_is_right(struct on_gpu *g, const struct conv_expected *e)
{
    int good = 1;
    on_gpu_take_back(g);
    for (int i = 0; i < 4; i++) {
        if (placed_is_asked(g->placed.c, i) && !conv_case_matches(g->placed.c, e, i)) good = 0;
        if (!box_canaries_whole(conv_case_output(g->placed.c, i))) good = 0;
    }
    return good;
}
