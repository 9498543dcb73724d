/* An implementation row: one way to compute a direction of the convolution.
 *
 * Adding one touches three places: its file, one line in impl_list.c, one in meson.build. Every
 * test that walks the rows then runs it. */
#ifndef CVP_CONV_IMPL_H
#define CVP_CONV_IMPL_H

#include <stdio.h>

#include "src/operator/convolution/problem.h"

#define CONV_WHY_SIZE 120

/* The tensors of a call. `out` is the one that the direction computes, its input counterpart is
 * NULL: CONVOP_FWD reads src, weights, bias; CONVOP_BWD_D dst, weights; CONVOP_BWD_W dst, src;
 * CONVOP_BWD_B dst. Addresses are multiples of the element's size, no more. */
struct conv_operands {
    const void *src, *weights, *bias, *dst;
    void *out;
};

struct conv_impl {
    const char *name;
    int version; /* counts up when its speed or its results change */

    /* Pure and cheap. 0: why[] says what of the problem it does not take. It may look at all of p,
     * the workspace limit among it; p->dense may be 0. */
    int (*applicable)(const struct conv_problem *p, char why[CONV_WHY_SIZE]);

    /* Scratch bytes, at most p->workspace_limit. Only asked where it is applicable. */
    size_t (*workspace)(const struct conv_problem *p);

    /* workspace is 64-byte aligned. Overwrites out, or adds to it if p->add; without add, out is
     * not read. */
    convop_status (*run)(const struct conv_problem *p, const struct conv_operands *t,
                         const convop_context *context, void *workspace);
};

/* For applicable, of rows that take compact tensors only. */
static inline int cvp_conv_is_dense(const struct conv_problem *p, char why[CONV_WHY_SIZE])
{
    if (!p->dense)
        snprintf(why, CONV_WHY_SIZE, "a tensor has gaps and a compact copy exceeds the workspace");
    return p->dense;
}

/* Address of an element. */
static inline const void *cvp_conv_at(const struct conv_problem *p, const void *base,
                                      int64_t element)
{
    return (const char *)base + element * (int64_t)cvp_conv_element_size(p);
}

static inline void *cvp_conv_at_mut(const struct conv_problem *p, void *base, int64_t element)
{
    return (char *)base + element * (int64_t)cvp_conv_element_size(p);
}

/* The rows of a direction in the order in which they are tried, ended by NULL. */
const struct conv_impl *const *cvp_conv_impls(convop_conv_direction dir);

/* The row to run: the one that the setting "impl" names, or the first that is applicable.
 * UNSUPPORTED if there is none; the text gives each row's reason. INVALID for an unknown name. */
convop_status cvp_conv_select(const struct conv_problem *p, const struct conv_impl **impl);

#endif
