/* The table of implementation rows (convop/conv_impl.h), and the choice among them.
 *
 * Adding a built-in row touches three places: its file, one line in impl_list.h, one in
 * meson.build. Every test that walks the rows then runs it. */
#ifndef CVP_CONV_IMPL_H
#define CVP_CONV_IMPL_H

#include <stdio.h>

#include "src/operator/convolution/problem.h"

/* The row that takes every problem and is the last to be chosen. */
#define CONV_REFERENCE "reference"

/* For applicable, of rows that take compact tensors of float32 or float64 only. */
static inline int cvp_conv_is_plain(const convop_conv_problem *p, char why[CONVOP_WHY_SIZE])
{
    if (p->dense && cvp_conv_is_wide(p)) return 1;
    snprintf(why, CONVOP_WHY_SIZE, "%s, and a %s copy exceeds the workspace of %zu bytes",
             p->dense ? "it computes in float32" : "a tensor has gaps",
             p->dense ? "float32" : "compact", p->workspace_limit);
    return 0;
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

/* Asks a row whether it takes a problem; sees to it that `why` is a text. */
static inline int cvp_conv_ask(const convop_conv_impl *row, const convop_conv_problem *p,
                               char why[CONVOP_WHY_SIZE])
{
    why[0] = '\0';
    int yes = row->applicable(p, why);
    why[yes ? 0 : CONVOP_WHY_SIZE - 1] = '\0';
    return yes;
}

struct conv_row_set;

/* The rows of all directions, in the order in which they are tried. Immutable. */
struct conv_rows {
    const convop_conv_impl *const *at;
    size_t count;
    struct conv_row_set *set; /* who counts its users; NULL: the built-in rows alone */
};

/* The rows as of now; they stay until they are released. */
const struct conv_rows *cvp_conv_rows_acquire(void);
void cvp_conv_rows_release(const struct conv_rows *rows);

/* Is the descriptor of a row complete? INVALID; the text names the member. */
convop_status cvp_conv_impl_check(const char *caller, const convop_conv_impl *impl);

/* The row to run: the one that `name` says ("": the first that is applicable), or NULL. */
const convop_conv_impl *cvp_conv_find(const struct conv_rows *rows, const char *name,
                                      const convop_conv_problem *p);

/* Says why there is none: UNSUPPORTED with each row's reason, INVALID for an unknown name. */
convop_status cvp_conv_fail_to_find(const struct conv_rows *rows, const char *name,
                                    const convop_conv_problem *p);

#endif
