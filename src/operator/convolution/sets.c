/* The tensors that candidates are measured with. */
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/cpu.h"
#include "src/common/half.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/measure.h"

/* ---- values: k / 128 for |k| < 128, which every type holds exactly: no denormals, no surprises --
 */

#define VALUES 255

union table {
    float f32[VALUES];
    double f64[VALUES];
    uint16_t half[VALUES];
};

static void make_table(union table *t, DLDataType dtype)
{
    for (int i = 0; i < VALUES; i++) {
        float v = (float)(i - VALUES / 2) / 128;
        if (dtype.bits == 64)
            t->f64[i] = v;
        else if (dtype.bits == 32)
            t->f32[i] = v;
        else
            t->half[i] = dtype.code == kDLBfloat ? cvp_bf16_of_float(v) : cvp_f16_of_float(v);
    }
}

struct filling {
    union table table;
    size_t size; /* of an element */
    char *to;
    uint64_t seed;
};

#define BLOCK 4096 /* elements that one random stream fills */

static void fill_blocks(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct filling *f = arg;
    for (int64_t block = begin; block < end; block++) {
        uint64_t state = f->seed + (uint64_t)block * UINT64_C(0x9e3779b97f4a7c15);
        char *to = f->to + (size_t)block * BLOCK * f->size;
        for (int i = 0; i < BLOCK; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            size_t at = (size_t)((state >> 33) % VALUES);
            memcpy(to + (size_t)i * f->size, (const char *)&f->table + at * f->size, f->size);
        }
    }
}

void cvp_conv_fill(const convop_context *context, DLDataType dtype, void *to, size_t bytes,
                   uint64_t seed)
{
    struct filling f = {.size = dtype.bits / 8, .to = to, .seed = seed};
    make_table(&f.table, dtype);
    cvp_parallel(context, (int64_t)(bytes / f.size / BLOCK), fill_blocks, &f);
}

/* ---- places ---------------------------------------------------------------------------------- */

size_t cvp_conv_span(const struct conv_side *side, size_t size)
{
    const convop_conv_strides *s = &side->have;
    const int64_t strides[5] = {s->n, s->c, s->d, s->h, s->w};
    int64_t last = 0;
    size_t bytes;
    for (int i = 0; i < 5; i++) {
        int64_t reach;
        if (side->sizes[i] == 0) return 0;
        if (!cvp_mul_i64(side->sizes[i] - 1, strides[i], &reach) ||
            !cvp_add_i64(last, reach, &last))
            return 0;
    }
    if (!cvp_mul_size((size_t)(last / BLOCK + 1), BLOCK * size, &bytes)) return 0;
    return bytes;
}

convop_status cvp_conv_set_lay_out(struct conv_set_layout *l, const struct conv_plan *plan,
                                   size_t alignment)
{
    *l = (struct conv_set_layout){.out = cvp_conv_output(plan)};
    for (int i = 0; i < CONV_PLACES; i++) {
        const struct conv_side side = cvp_conv_side(plan, (enum conv_place)i);
        l->at[i] = l->bytes;
        if (l->out == CONV_BIAS && (i == CONV_SRC || i == CONV_WEIGHTS)) continue;
        l->size[i] = cvp_conv_span(&side, cvp_conv_element_size(&plan->given));
        if ((!l->size[i] && side.sizes[1] > 0) ||
            !cvp_add_size(l->bytes, cvp_round_up(l->size[i], alignment), &l->bytes))
            return convop_fail(CONVOP_E_UNSUPPORTED,
                               "Convolution: the tensors to measure with overflow 64 bits");
    }
    return CONVOP_OK;
}

convop_conv_operands cvp_conv_set_operands(const struct conv_set_layout *l, char *set)
{
    char *of[CONV_PLACES];
    for (int i = 0; i < CONV_PLACES; i++) of[i] = l->size[i] ? set + l->at[i] : NULL;
    convop_conv_operands t = {.struct_size = sizeof t, .out = of[l->out]};
    t.src = l->out == CONV_SRC ? NULL : of[CONV_SRC];
    t.weights = l->out == CONV_WEIGHTS ? NULL : of[CONV_WEIGHTS];
    t.bias = l->out == CONV_DST ? of[CONV_BIAS] : NULL;
    t.residual = of[CONV_RESIDUAL];
    t.dst = l->out == CONV_DST ? NULL : of[CONV_DST];
    return t;
}

static int sets_for(size_t set_bytes, int threads)
{
    size_t sets = 2 * (size_t)cvp_cpu_l2() * (size_t)threads / set_bytes + 1;
    if (sets > CONV_SETS_BYTES / set_bytes) sets = CONV_SETS_BYTES / set_bytes;
    return sets < 1 ? 1 : sets > CONV_SETS_MAX ? CONV_SETS_MAX : (int)sets;
}

static char *set_at(const struct conv_sets *s, int set)
{
    return s->memory + (size_t)set * s->each.bytes;
}

convop_status cvp_conv_sets_make(struct conv_sets *s, const struct conv_plan *plan)
{
    const convop_conv_problem *p = &plan->given;
    *s = (struct conv_sets){.context = plan->context};
    CVP_RETURN_IF_ERROR(cvp_conv_set_lay_out(&s->each, plan, 1));
    for (s->sets = sets_for(s->each.bytes, p->threads); s->sets > 0; s->sets /= 2) {
        s->bytes = (size_t)s->sets * s->each.bytes;
        s->memory = cvp_buffer_alloc(&s->context->allocator, s->bytes);
        if (s->memory) break;
    }
    if (!s->memory) return CONVOP_E_NO_MEMORY;
    for (int i = 0; i < s->sets; i++)
        cvp_conv_fill(s->context, p->dtype, set_at(s, i), s->each.bytes, 1);
    return CONVOP_OK;
}

void cvp_conv_sets_free(struct conv_sets *s)
{
    if (s->memory) cvp_buffer_free(&s->context->allocator, s->memory, s->bytes);
    s->memory = NULL;
}

void cvp_conv_sets_refill(const struct conv_sets *s, const struct conv_plan *plan)
{
    /* Not as in the set: what must not be read may then be told from what was written. */
    cvp_conv_fill(s->context, plan->given.dtype, s->memory + s->each.at[s->each.out],
                  s->each.size[s->each.out], 2);
}

convop_conv_operands cvp_conv_sets_operands(const struct conv_sets *s, int set)
{
    return cvp_conv_set_operands(&s->each, set_at(s, set));
}
