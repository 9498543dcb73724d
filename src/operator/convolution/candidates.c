/* Who competes for a problem: rows that apply, as the tensors are or behind copies, the most
 * promising first. */
#include <string.h>

#include "src/common/size.h"
#include "src/operator/convolution/select.h"

/* Bytes a millisecond that strided copies move at least, in and out. A rough figure will do: all
 * that need copies need the same ones. */
#define COPY_BYTES_MS 2e6

static int is_last_resort(const convop_conv_impl *row)
{
    return strcmp(row->name, CONV_REFERENCE) == 0;
}

int cvp_conv_consider(const struct conv_plan *plan, const convop_conv_problem *behind,
                      size_t copy_bytes, const convop_conv_impl *row,
                      struct conv_candidate *candidate, char why[CONVOP_WHY_SIZE])
{
    const convop_conv_problem *p = &plan->given;
    int copies = 0;
    if (!cvp_conv_ask(row, p, why)) {
        if (!behind || !cvp_conv_ask(row, behind, why)) return 0;
        copies = 1;
        p = behind;
    }
    *candidate = (struct conv_candidate){.impl = row, .copies = copies};
    candidate->bytes = row->workspace ? row->workspace(p) : 0;
    if (copies && !cvp_add_size(copy_bytes, candidate->bytes, &candidate->bytes))
        candidate->bytes = SIZE_MAX;
    return 1;
}

void cvp_conv_rate(const struct conv_plan *plan, const convop_conv_problem *behind,
                   size_t copy_bytes, struct conv_candidate *c)
{
    const convop_conv_problem *p = c->copies ? behind : &plan->given;
    c->estimated_ms = c->rank = cvp_conv_estimate(c->impl, p);
    if (c->estimated_ms == 0) return;
    if (p->deterministic && p->threads > 1) {
        convop_conv_problem alone = *p;
        alone.threads = 1;
        c->rank = cvp_conv_estimate(c->impl, &alone);
    }
    if (!c->copies) return;
    c->estimated_ms += (double)copy_bytes / COPY_BYTES_MS;
    c->rank += (double)copy_bytes / COPY_BYTES_MS;
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
    for (size_t i = 0; i < plan->rows->count; i++) {
        const convop_conv_impl *row = plan->rows->at[i];
        struct conv_candidate c;
        char why[CONVOP_WHY_SIZE];
        if (!cvp_conv_is_for(row, &plan->given) || row == without ||
            (name[0] && strcmp(row->name, name) != 0))
            continue;
        if (!cvp_conv_consider(plan, has_copies ? &behind : NULL, bytes, row, &c, why)) continue;
        cvp_conv_rate(plan, &behind, bytes, &c);
        add(all, &c);
    }
}
