/* Who competes for a problem: rows that apply, as the tensors are or behind copies, the most
 * promising first. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/select.h"

/* Bytes of copies a millisecond, in and out: measured 4e6 for float16, 7e6 for bfloat16, more where
 * nothing is converted. */
#define COPY_BYTES_MS 5e6

static int is_last_resort(const convop_conv_impl *row)
{
    return strcmp(row->name, CONV_REFERENCE) == 0;
}

int cvp_conv_row_view(const convop_conv_impl *row, const convop_conv_problem *p,
                      convop_conv_problem *seen)
{
    *seen = *p;
    if (!cvp_conv_has_epilogue(p) || cvp_conv_fuses(row, p)) return 1;
    seen->activation = CONVOP_ACTIVATION_NONE;
    seen->residual = 0;
    return 0;
}

/* A pass after a row that stores 16-bit types would round twice; on a GPU there is none. */
static int ask(const convop_conv_impl *row, const convop_conv_problem *p, convop_conv_problem *seen,
               struct conv_cut *cut, int *finished_apart, char why[CONVOP_WHY_SIZE])
{
    *finished_apart = !cvp_conv_row_view(row, p, seen);
    if (!*finished_apart || (cvp_conv_is_wide(p) && !cvp_conv_is_on_gpu(p)))
        return cvp_conv_ask(row, seen, cut, why);
    return cvp_conv_refuse(why,
                           "it computes no activation or residual of this type and these strides");
}

/* Of a pass over dst. */
static double pass_ms(const convop_conv_problem *p)
{
    return (double)p->mb * (double)p->oc * (double)cvp_conv_dst_pixels(p) *
           (double)cvp_conv_element_size(p) / COPY_BYTES_MS;
}

/* Of a problem that the row was asked about. */
static void rate(struct conv_candidate *c, const convop_conv_problem *p, size_t copy_bytes)
{
    c->estimated_ms = c->rank = cvp_conv_estimate(c->impl, p);
    if (c->estimated_ms == 0) return;
    if (p->deterministic && p->threads > 1) c->rank = cvp_conv_estimate_alone(c->impl, p);
    double more = c->finished_apart ? pass_ms(p) : 0;
    if (c->copies) more += (double)copy_bytes / COPY_BYTES_MS;
    c->estimated_ms += more;
    c->rank += more;
}

int cvp_conv_consider(const struct conv_plan *plan, const convop_conv_problem *behind,
                      size_t copy_bytes, const convop_conv_impl *row, convop_conv_problem *seen,
                      struct conv_cut *cut, struct conv_candidate *candidate,
                      char why[CONVOP_WHY_SIZE])
{
    int apart, copies = !ask(row, &plan->given, seen, cut, &apart, why);
    if (copies && (!behind || !ask(row, behind, seen, cut, &apart, why))) return 0;
    *candidate = (struct conv_candidate){.impl = row, .copies = copies, .finished_apart = apart};
    candidate->bytes = row->workspace ? row->workspace(seen) : 0;
    if (copies && !cvp_add_size(copy_bytes, candidate->bytes, &candidate->bytes))
        candidate->bytes = SIZE_MAX;
    return 1;
}

int cvp_conv_rate(const struct conv_plan *plan, const convop_conv_problem *behind,
                  size_t copy_bytes, const convop_conv_impl *row, struct conv_candidate *candidate,
                  char why[CONVOP_WHY_SIZE])
{
    convop_conv_problem seen;
    struct conv_cut cut;
    if (!cvp_conv_consider(plan, behind, copy_bytes, row, &seen, &cut, candidate, why)) return 0;
    rate(candidate, &seen, copy_bytes);
    return 1;
}

/* Groups that no estimate crosses, the best first. */
enum { HIGHER_LEVEL, HIGHER_LEVEL_COPIED, ESTIMATED, OTHER, OTHER_COPIED, LAST_RESORT };

static int group_of(const struct conv_candidate *c)
{
    if (is_last_resort(c->impl)) return LAST_RESORT;
    if (c->impl->level > CONVOP_LEVEL_BUILTIN)
        return c->copies ? HIGHER_LEVEL_COPIED : HIGHER_LEVEL;
    if (c->estimated_ms > 0) return ESTIMATED; /* the time of copies is in it */
    return c->copies ? OTHER_COPIED : OTHER;
}

/* Of equal ones the one that was added first, which is the order of the rows. */
static int comes_before(const struct conv_candidate *a, const struct conv_candidate *b)
{
    int group = group_of(a), other = group_of(b);
    if (group != other) return group < other;
    return group == ESTIMATED && a->rank < b->rank;
}

static void add(struct conv_candidates *all, const struct conv_candidate *c)
{
    size_t at = all->count;
    if (at == CONV_MAX_CANDIDATES) {
        if (!comes_before(c, &all->at[--at])) return;
    } else {
        all->count++;
    }
    for (; at > 0 && comes_before(c, &all->at[at - 1]); at--) all->at[at] = all->at[at - 1];
    all->at[at] = *c;
}

void cvp_conv_candidates(const struct conv_plan *plan, const char *name,
                         const convop_conv_impl *without, struct conv_candidates *all)
{
    convop_conv_problem behind;
    size_t bytes = 0;
    int has_copies = cvp_conv_plan_behind(plan, &behind, &bytes);
    all->count = 0;
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, &plan->given);
    for (size_t i = 0; i < rows.count; i++) {
        const convop_conv_impl *row = rows.at[i];
        struct conv_candidate c;
        char why[CONVOP_WHY_SIZE];
        if (row == without || (name[0] && strcmp(row->name, name) != 0)) continue;
        if (cvp_conv_rate(plan, has_copies ? &behind : NULL, bytes, row, &c, why)) add(all, &c);
    }
}
