/* The table of implementation rows (convop/conv_impl.h), and the choice among them.
 *
 * Adding a built-in row touches three places: its file, one line in impl_list.h, one in
 * meson.build. Every test that walks the rows then runs it. */
#ifndef CVP_CONV_IMPL_H
#define CVP_CONV_IMPL_H

#include <stddef.h>
#include <stdio.h>

#include "src/operator/convolution/problem.h"

/* The row that takes every problem and is the last to be chosen. */
#define CONV_REFERENCE "reference"

/* For applicable and cut: says why a row does not take a problem, and answers 0. Cold, so that none
 * of it lies in the way of what runs each time. */
int cvp_conv_refuse(char why[CONVOP_WHY_SIZE], const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* For cut: 1 if the workspace suffices for a thread at least. */
static inline int cvp_conv_has_lanes(const convop_conv_problem *p, int lanes,
                                     char why[CONVOP_WHY_SIZE])
{
    if (lanes > 0) return 1;
    return cvp_conv_refuse(why, "needs more workspace than the limit of %zu bytes",
                           p->workspace_limit);
}

/* For applicable, of rows that take compact tensors of any type. */
static inline int cvp_conv_is_dense(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (p->dense) return 1;
    return cvp_conv_refuse(
        why, "a tensor has gaps, and a compact copy exceeds the workspace of %zu bytes",
        p->workspace_limit);
}

/* For applicable, of rows that take compact tensors of float32 or float64 only. */
static inline int cvp_conv_is_plain(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (!p->dense || cvp_conv_is_wide(p)) return cvp_conv_is_dense(p, why);
    return cvp_conv_refuse(
        why, "it computes in float32, and a float32 copy exceeds the workspace of %zu bytes",
        p->workspace_limit);
}

/* Address of an element. */
static inline const void *cvp_conv_at(const convop_conv_problem *p, const void *base,
                                      int64_t element)
{
    return (const char *)base + element * (int64_t)cvp_conv_element_size(p);
}

static inline void *cvp_conv_at_mut(const convop_conv_problem *p, void *base, int64_t element)
{
    return (char *)base + element * (int64_t)cvp_conv_element_size(p);
}

/* 1 if the descriptor has that member: those of plug-ins may end before it. */
#define CONV_IMPL_HAS(row, member)                                                                 \
    ((row)->struct_size >= offsetof(convop_conv_impl, member) + sizeof(row)->member)

static inline double cvp_conv_error_bound(const convop_conv_impl *row)
{
    return CONV_IMPL_HAS(row, error_bound) ? row->error_bound : 0;
}

/* 1 if the row makes something of a problem that its functions find there. */
static inline int cvp_conv_cuts(const convop_conv_impl *row)
{
    return CONV_IMPL_HAS(row, cut_size) && row->cut;
}

/* For a built-in row's cut_size: does not compile where it is too large. */
#define CONV_CUT_SIZE(type)                                                                        \
    (sizeof(type) + 0 * sizeof(char[sizeof(type) <= CONVOP_CONV_CUT_SIZE ? 1 : -1]))

/* Room for what any row makes of a problem. */
struct conv_cut {
    _Alignas(16) char bytes[CONVOP_CONV_CUT_SIZE];
};

/* Asks a row whether it takes a problem; sees to it that `why` is a text. Where it does, p->cut is
 * set, to *cut or NULL. */
static inline int cvp_conv_ask(const convop_conv_impl *row, convop_conv_problem *p,
                               struct conv_cut *cut, char why[CONVOP_WHY_SIZE])
{
    const int cuts = cvp_conv_cuts(row);
    p->cut = NULL;
    if (p->math == CONVOP_MATH_STRICT && cvp_conv_error_bound(row) > 0)
        return cvp_conv_refuse(why, "math is strict");
    why[0] = '\0';
    int yes = cuts ? row->cut(p, cut->bytes, why) : row->applicable(p, why);
    why[yes ? 0 : CONVOP_WHY_SIZE - 1] = '\0';
    if (yes && cuts) p->cut = cut->bytes;
    return yes;
}

/* 1 if the row takes tensors on a GPU, 0 if on the CPU. */
static inline int cvp_conv_row_is_on_gpu(const convop_conv_impl *row)
{
    return CONV_IMPL_HAS(row, device_type) && row->device_type == kDLCUDA;
}

/* The time that a row expects for a problem that it was asked about and takes, in milliseconds; 0:
 * it does not say. */
static inline double cvp_conv_estimate(const convop_conv_impl *row, const convop_conv_problem *p)
{
    if (!CONV_IMPL_HAS(row, estimate) || !row->estimate) return 0;
    double ms = row->estimate(p);
    return ms > 0 && ms < 1e15 ? ms : 0;
}

/* The same on one thread. */
static inline double cvp_conv_estimate_alone(const convop_conv_impl *row,
                                             const convop_conv_problem *p)
{
    convop_conv_problem alone = *p;
    struct conv_cut cut;
    char why[CONVOP_WHY_SIZE];
    alone.threads = 1;
    return cvp_conv_ask(row, &alone, &cut, why) ? cvp_conv_estimate(row, &alone) : 0;
}

/* 1 if a row computes what follows the sum of a problem. */
static inline int cvp_conv_fuses(const convop_conv_impl *row, const convop_conv_problem *p)
{
    const size_t end = offsetof(convop_conv_impl, fuses) + sizeof row->fuses;
    return row->struct_size >= end && row->fuses && row->fuses(p);
}

struct conv_row_set;

/* Rows of one direction on one kind of device are a group. */
#define CONV_GROUPS 8

static inline size_t cvp_conv_group(convop_conv_direction direction, int is_on_gpu)
{
    return 2 * (size_t)direction + (size_t)is_on_gpu;
}

static inline size_t cvp_conv_group_of(const convop_conv_impl *row)
{
    return cvp_conv_group(row->direction, cvp_conv_row_is_on_gpu(row));
}

/* All rows, group by group, each in the order in which they are tried; those of group i are at
 * first[i] to first[i + 1]. Immutable. */
struct conv_rows {
    const convop_conv_impl *const *at;
    size_t first[CONV_GROUPS + 1];
    struct conv_row_set *set; /* who counts its users; NULL: the built-in rows alone */
    uint64_t identity;        /* 0: the built-in rows alone; see cvp_conv_rows_identity */
};

/* Those for problems like this one: its direction, on its device. No others are asked. */
struct conv_row_list {
    const convop_conv_impl *const *at;
    size_t count;
};

static inline struct conv_row_list cvp_conv_rows_for(const struct conv_rows *rows,
                                                     const convop_conv_problem *p)
{
    const size_t *first = &rows->first[cvp_conv_group(p->direction, cvp_conv_is_on_gpu(p))];
    return (struct conv_row_list){rows->at + first[0], first[1] - first[0]};
}

/* A number that differs where names, versions, levels or directions of the rows do. */
uint64_t cvp_conv_rows_identity(const struct conv_rows *rows);

/* The rows as of now; they stay until they are released. */
const struct conv_rows *cvp_conv_rows_acquire(void);
void cvp_conv_rows_release(const struct conv_rows *rows);

/* Is the descriptor of a row complete? INVALID; the text names the member. */
convop_status cvp_conv_impl_check(const char *caller, const convop_conv_impl *impl);

#endif
