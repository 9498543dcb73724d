/* Plans of one-call executions, kept for calls that look the same.
 *
 * Checking and planning cost more than the arithmetic of a small problem, and give the same answer
 * each time. So the plans of built-in operators stay in a table, under everything that they depend
 * on. A plan that is found was made after all checks of the same shapes, dtypes, strides and
 * parameters: only what hangs on addresses is left to check.
 *
 * The table has a fixed size, allocates nothing and takes no lock. */
#ifndef CVP_MEMO_H
#define CVP_MEMO_H

#include "src/common/tensor.h"
#include "src/operator/call.h"

/* Words for 12 tensors of 2-D operators and Convolution's parameters. What is longer is not kept.
 */
#define CVP_MEMO_KEY_WORDS 144

/* Of a plan: room for the three of _backward_Convolution. What is larger is not kept. */
#define CVP_MEMO_PLAN_SIZE 6400

#define CVP_MEMO_MAX_TENSORS 12

/* All that a plan depends on, as words. Parts are added in an order from which each can be told. */
struct cvp_memo_key {
    const convop_op *op;
    uint64_t hash;
    size_t count; /* of words */
    int is_bad;   /* there is no key: something does not fit, or must not be kept */
    uint64_t words[CVP_MEMO_KEY_WORDS];
};

struct cvp_memo_entry {
    size_t workspace_bytes;
    struct cvp_extent extents[CVP_MEMO_MAX_TENSORS]; /* of the inputs, then the outputs */
    _Alignas(16) char plan[CVP_MEMO_PLAN_SIZE];
};

/* ---- keys ---------------------------------------------------------------------------------- */

static inline void cvp_memo_key_begin(struct cvp_memo_key *key, const convop_op *op)
{
    key->op = op;
    key->count = 0;
    key->is_bad = 0;
}

static inline void cvp_memo_key_add(struct cvp_memo_key *key, uint64_t word)
{
    if (key->count < CVP_MEMO_KEY_WORDS)
        key->words[key->count++] = word;
    else
        key->is_bad = 1;
}

/* The operator's typed struct, byte by byte: for one that was filled from zeroed memory. */
void cvp_memo_key_add_params(struct cvp_memo_key *key, const void *params);

/* The rest of a call: tensors, requests, context, limits, and what the process is set to. */
void cvp_memo_key_end(struct cvp_memo_key *key, const struct cvp_call *call);

/* ---- the table ----------------------------------------------------------------------------- */

/* The entry of that key, held until cvp_memo_release; NULL: there is none. */
const struct cvp_memo_entry *cvp_memo_find(const struct cvp_memo_key *key);
void cvp_memo_release(const struct cvp_memo_entry *entry);

/* A place for the plan of that key: what was there has ended, plan_size bytes of `plan` are zero.
 * NULL: it is not kept. Between this and cvp_memo_publish or cvp_memo_abandon the place is the
 * caller's alone. */
struct cvp_memo_entry *cvp_memo_claim(const struct cvp_memo_key *key);
void cvp_memo_publish(struct cvp_memo_entry *entry); /* to be found; the caller holds it */
void cvp_memo_abandon(struct cvp_memo_entry *entry); /* there is no plan in it */

/* Ends all plans: those that run, when they have run. To be called when something goes away that a
 * plan may refer to. Plans being made at this moment end after their first run. */
void cvp_memo_purge(void);

/* For tests. Hits are those of the calling thread. */
struct cvp_memo_counts {
    uint64_t hits, kept, entries;
};
struct cvp_memo_counts cvp_memo_counts(void);

#endif
