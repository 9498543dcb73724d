/* The tensors of a case, and what fills them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"

int case_has_bias(const struct bench_case *c)
{
    return direction_has_bias(c->direction);
}

int case_writes(const struct bench_case *c, enum operand operand)
{
    switch (c->direction) {
    case BWD_D: return operand == SRC;
    case BWD_W: return operand == WEI;
    case BWD_WB: return operand == WEI || operand == BIA;
    default: return operand == DST;
    }
}

/* dst may be both. */
int case_reads(const struct bench_case *c, enum operand operand)
{
    return !case_writes(c, operand) ||
           (operand == DST && c->problem->settings.post_ops.addend == ADD_DST);
}

static int is_absent(const struct bench_case *c, enum operand operand)
{
    return (operand == BIA && !case_has_bias(c)) ||
           (operand == ADDEND && c->problem->settings.post_ops.addend != ADD_TENSOR);
}

/* ---- shapes -------------------------------------------------------------------------------- */

static int shape_of(const struct bench_case *c, enum operand operand, int64_t shape[5])
{
    const struct descriptor *p = &c->problem->descriptor;
    if (operand == BIA) {
        shape[0] = p->oc;
        return 1;
    }
    shape[0] = operand == WEI ? p->oc : p->mb;
    const int is_dst = operand == DST || operand == ADDEND;
    shape[1] = operand == SRC ? p->ic : is_dst ? p->oc : p->ic / p->g;
    for (int i = 0; i < p->ndim; i++) {
        const struct axis *a = &p->axis[3 - p->ndim + i];
        shape[2 + i] = operand == SRC ? a->i : is_dst ? a->o : a->k;
    }
    return 2 + p->ndim;
}

/* Shape, strides and sizes; 0 if they do not fit 63 bits. */
static int lay_out(const struct bench_case *c, enum operand operand, struct tensor *t)
{
    t->ndim = shape_of(c, operand, t->shape);
    t->elements = 1;
    for (int i = 0; i < t->ndim; i++)
        if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements)) return 0;
    if (t->elements > INT64_MAX / 16) return 0;
    t->bytes = (size_t)t->elements * type_bytes(c->type);

    /* Memory order, slowest first: as the shape, but for the channels, which come last in NHWC. */
    int order[5];
    int64_t step = 1;
    for (int i = 0; i < t->ndim; i++) order[i] = i;
    if (c->tag == NHWC && t->ndim > 1) {
        for (int i = 1; i + 1 < t->ndim; i++) order[i] = i + 1;
        order[t->ndim - 1] = 1;
    }
    for (int i = t->ndim - 1; i >= 0; i--) {
        t->stride[order[i]] = step;
        t->view_shape[i] = t->shape[order[i]];
        step *= t->shape[order[i]];
    }
    t->view = (DLTensor){.device = {kDLCPU, 0},
                         .ndim = t->ndim,
                         .dtype = type_dtype(c->type),
                         .shape = t->view_shape};
    return 1;
}

/* ---- fills --------------------------------------------------------------------------------- */

/* Random bits that depend on the place alone, so that every run has the same numbers
 * (the finaliser of splitmix64). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* How many products at most are added up into one element. */
static double longest_sum(const struct bench_case *c)
{
    const struct descriptor *p = &c->problem->descriptor;
    double n = c->direction == BWD_D ? (double)(p->oc / p->g) : (double)(p->ic / p->g);
    if (c->direction == BWD_W || c->direction == BWD_WB) n = (double)p->mb;
    for (int i = 0; i < 3; i++) {
        const struct axis *a = &p->axis[i];
        n *= c->direction == BWD_W || c->direction == BWD_WB ? (double)a->o : (double)a->k;
    }
    return n;
}

/* On the CPU, whatever the library works on. */
static void *elements(const struct tensor *t)
{
    return t->block + GUARD;
}

static void put(const struct bench_case *c, struct tensor *t, int64_t i, double value)
{
    switch (c->type) {
    case F64: ((double *)elements(t))[i] = value; break;
    case F32: ((float *)elements(t))[i] = (float)value; break;
    default: ((uint16_t *)elements(t))[i] = half_bits(c->type, value);
    }
}

double case_get(const struct bench_case *c, const struct tensor *t, int64_t i)
{
    switch (c->type) {
    case F64: return ((const double *)elements(t))[i];
    case F32: return (double)((const float *)elements(t))[i];
    default: return half_value(c->type, ((const uint16_t *)elements(t))[i]);
    }
}

/* |value| <= fill_top, sums stay below 2^24: float32 holds each partial sum, in any order; a 16-bit
 * result is that sum, rounded once. Beyond 2^23 products most values are 0, so few are left that
 * the sums stay far below 2^24. */
static void choose_fill(struct bench_case *c)
{
    double n = longest_sum(c);
    c->fill_top = n <= 0x1p18 ? 7 : n <= 0x1p21 ? 2 : 1;
    c->fill_density = n <= 0x1p23 ? 1 : 0x1p22 / n;
}

double case_exact(const struct bench_case *c, enum operand operand, int64_t place)
{
    uint64_t bits = mix((uint64_t)place * 4 + (uint64_t)operand);
    if ((double)(bits >> 40) >= c->fill_density * 0x1p24) return 0;
    return (double)((int)(bits % (uint64_t)(2 * c->fill_top + 1)) - c->fill_top);
}

void case_fill_exact(struct bench_case *c)
{
    for (int o = 0; o < NUM_OPERANDS; o++) {
        struct tensor *t = &c->tensor[o];
        if (!t->block) continue;
        for (int64_t i = 0; i < t->elements; i++)
            put(c, t, i, case_reads(c, o) ? case_exact(c, o, i) : (double)NAN);
    }
}

void case_fill_real(struct bench_case *c)
{
    for (int o = 0; o < NUM_OPERANDS; o++) {
        struct tensor *t = &c->tensor[o];
        if (!t->block || !case_reads(c, o)) continue;
        for (int64_t i = 0; i < t->elements; i++)
            put(c, t, i, (double)(mix((uint64_t)i * 4 + (uint64_t)o) >> 11) * 0x1p-52 - 1);
    }
}

/* ---- allocation ---------------------------------------------------------------------------- */

/* More than the machine has would be promised all the same, and end in the kernel's killer. */
static int fits_machine(size_t bytes)
{
    return (double)bytes < (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

convop_status case_create(struct bench_case *c, char *why, size_t size)
{
    size_t total = 0, reference;
    int fits = 1;
    for (int i = 0; i < NUM_OPERANDS; i++) c->tensor[i] = (struct tensor){.block = NULL};
    for (int i = 0; i < NUM_OPERANDS && fits; i++) {
        if (is_absent(c, i)) continue;
        fits = lay_out(c, i, &c->tensor[i]);
        if (!fits) break;
        reference = c->problem->settings.mode & MODE_CHECK ? 8 * (size_t)c->tensor[i].elements : 0;
        fits = !__builtin_add_overflow(total, c->tensor[i].bytes + reference + 3 * GUARD, &total);
    }
    fits = fits && fits_machine(total);
    for (int i = 0; i < NUM_OPERANDS && fits; i++) {
        struct tensor *t = &c->tensor[i];
        if (is_absent(c, i)) continue;
        t->block_bytes = (t->bytes + GUARD - 1) / GUARD * GUARD + 2 * GUARD;
        t->block = aligned_alloc(GUARD, t->block_bytes);
        fits = t->block != NULL;
        if (!fits) break;
        memset(t->block, GUARD_BYTE, t->block_bytes);
        t->view.data = elements(t);
    }
    if (!fits) {
        case_destroy(c);
        snprintf(why, size, "the tensors do not fit into memory");
        return CONVOP_E_NO_MEMORY;
    }
    query_make(&c->problem->descriptor, &c->problem->settings.post_ops, c->direction, c->type,
               c->tag, &c->query);
    choose_fill(c);
    convop_status status = case_is_on_gpu(c) ? case_place(c) : CONVOP_OK;
    if (status == CONVOP_OK) return CONVOP_OK;
    snprintf(why, size, "%s", convop_last_error());
    case_destroy(c);
    return status;
}

void case_destroy(struct bench_case *c)
{
    convop_instance_destroy(&c->instance);
    case_take_away(c);
    for (int i = 0; i < NUM_OPERANDS; i++) {
        free(c->tensor[i].block);
        c->tensor[i].block = NULL;
    }
}
