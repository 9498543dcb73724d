/* The table of plans; see memo.h.
 *
 * A place is claimed, filled and published by one thread; then any number of threads hold and
 * release it. Its word says who may do what:
 *
 *     state     EMPTY, OWNED (one thread fills or ends it), or READY (its key and plan are
 * constant) RETIRED   what is there, or is being put there, is found no more: the last holder ends
 * it holders   how many threads run it, in the low bits
 *
 * All changes of a word are atomic read-modify-writes, so that whoever claims a place after
 * cvp_memo_purge has passed it sees what was changed before the purge. */
#include "src/operator/memo.h"

#include <stdatomic.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/epoch.h"
#include "src/cuda/handle.h"
#include "src/registry/registry_internal.h"

#define PLACES 512 /* a power of two */
#define WINDOW 4   /* places in which a key may be */

#define EMPTY   0u
#define OWNED   (1u << 31)
#define READY   (1u << 30)
#define RETIRED (1u << 29)
#define HOLDERS (RETIRED - 1)

/* hash and epoch are only advice where the place is not held. */
struct place {
    _Alignas(64) _Atomic uint32_t word;
    _Atomic uint64_t hash, epoch;
};

struct body {
    struct cvp_memo_entry entry; /* first: an entry leads to its body */
    const convop_op *op;
    size_t count;
    uint64_t words[CVP_MEMO_KEY_WORDS];
};

/* Apart from each other, so that a purge touches no body. Pages that nobody needed take no memory.
 */
static struct place places[PLACES];
static struct body bodies[PLACES];

static atomic_uint hand;
static _Atomic uint64_t kept;
static _Thread_local uint64_t hits; /* of this thread: a common count would be written by all */

static struct place *place_at(const struct cvp_memo_key *key, int i)
{
    return &places[(key->hash + (uint64_t)i) % PLACES];
}

static struct body *body_of(const struct place *place)
{
    return &bodies[place - places];
}

static struct place *place_of(const struct cvp_memo_entry *entry)
{
    return &places[(const struct body *)entry - bodies];
}

/* Ends the plan of a place that the caller owns. */
static void end(const struct place *place)
{
    struct body *body = body_of(place);
    if (body->op->end) body->op->end(body->entry.plan);
}

/* From READY without holders, and RETIRED or not as `word` says, to OWNED. */
static int own(struct place *place, uint32_t word)
{
    return atomic_compare_exchange_strong_explicit(&place->word, &word, OWNED, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

static void disown(struct place *place)
{
    atomic_fetch_sub_explicit(&place->word, OWNED, memory_order_acq_rel);
}

static int is_free(uint32_t word)
{
    return !(word & (OWNED | HOLDERS));
}

static int hold(struct place *place)
{
    uint32_t word = atomic_load_explicit(&place->word, memory_order_relaxed);
    while ((word & (READY | RETIRED)) == READY)
        if (atomic_compare_exchange_weak_explicit(&place->word, &word, word + 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return 1;
    return 0;
}

static void let_go(struct place *place)
{
    uint32_t word = atomic_fetch_sub_explicit(&place->word, 1, memory_order_acq_rel) - 1;
    if (word != (READY | RETIRED) || !own(place, word)) return;
    end(place);
    disown(place);
}

static int is_of(const struct body *body, const struct cvp_memo_key *key)
{
    return body->op == key->op && body->count == key->count &&
           memcmp(body->words, key->words, key->count * sizeof key->words[0]) == 0;
}

const struct cvp_memo_entry *cvp_memo_find(const struct cvp_memo_key *key)
{
    if (key->is_bad) return NULL;
    const uint64_t epoch = cvp_epoch();
    for (int i = 0; i < WINDOW; i++) {
        struct place *place = place_at(key, i);
        if (atomic_load_explicit(&place->hash, memory_order_relaxed) != key->hash || !hold(place))
            continue;
        struct body *body = body_of(place);
        if (atomic_load_explicit(&place->epoch, memory_order_relaxed) == epoch &&
            is_of(body, key)) {
            hits++;
            return &body->entry;
        }
        let_go(place);
    }
    return NULL;
}

void cvp_memo_release(const struct cvp_memo_entry *entry)
{
    let_go(place_of(entry));
}

/* Which place to give up, the lowest first: 3 holds what may be asked for again. */
static int worth(const struct place *place, const struct cvp_memo_key *key, uint64_t epoch)
{
    uint32_t word = atomic_load_explicit(&place->word, memory_order_relaxed);
    if (!is_free(word)) return 4;
    int stale = atomic_load_explicit(&place->epoch, memory_order_relaxed) != epoch;
    if (word & READY && stale)
        return atomic_load_explicit(&place->hash, memory_order_relaxed) == key->hash ? 0 : 2;
    return word & READY ? 3 : 1;
}

/* Owns a place of the key's window; what was there has ended. */
static struct place *take(const struct cvp_memo_key *key, uint64_t epoch)
{
    /* Of equals, each in its turn: no pattern of calls can throw out all that it needs next. */
    int first = (int)(atomic_fetch_add_explicit(&hand, 1, memory_order_relaxed) % WINDOW), best = 4;
    struct place *place = NULL;
    for (int i = 0; i < WINDOW; i++) {
        struct place *p = place_at(key, (first + i) % WINDOW);
        int w = worth(p, key, epoch);
        if (w >= best) continue;
        best = w;
        place = p;
    }
    if (!place) return NULL;
    uint32_t word = atomic_load_explicit(&place->word, memory_order_relaxed);
    if (!is_free(word) || !own(place, word)) return NULL; /* another thread was faster */
    if (word & READY) end(place);
    return place;
}

static int is_builtin(const convop_op *op)
{
    for (size_t i = 0; i < cvp_num_builtin_ops; i++)
        if (cvp_builtin_ops[i] == op) return 1;
    return 0;
}

struct cvp_memo_entry *cvp_memo_claim(const struct cvp_memo_key *key)
{
    /* The descriptors of others may go away. */
    if (key->is_bad || key->op->plan_size > CVP_MEMO_PLAN_SIZE || !is_builtin(key->op)) return NULL;
    const uint64_t epoch = cvp_epoch(); /* before the plan: it is as old as what it reads first */
    struct place *place = take(key, epoch);
    if (!place) return NULL;
    struct body *body = body_of(place);
    atomic_store_explicit(&place->hash, key->hash, memory_order_relaxed);
    atomic_store_explicit(&place->epoch, epoch, memory_order_relaxed);
    body->op = key->op;
    body->count = key->count;
    memcpy(body->words, key->words, key->count * sizeof key->words[0]);
    memset(body->entry.plan, 0, key->op->plan_size);
    return &body->entry;
}

void cvp_memo_publish(struct cvp_memo_entry *entry)
{
    atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&place_of(entry)->word, OWNED - READY - 1, memory_order_acq_rel);
}

void cvp_memo_abandon(struct cvp_memo_entry *entry)
{
    disown(place_of(entry));
}

void cvp_memo_purge(void)
{
    for (int i = 0; i < PLACES; i++) {
        struct place *place = &places[i];
        uint32_t word =
            atomic_fetch_or_explicit(&place->word, RETIRED, memory_order_acq_rel) | RETIRED;
        if (word != (READY | RETIRED) || !own(place, word)) continue;
        end(place);
        disown(place);
    }
}

struct cvp_memo_counts cvp_memo_counts(void)
{
    struct cvp_memo_counts counts = {hits, atomic_load(&kept), 0};
    for (int i = 0; i < PLACES; i++)
        counts.entries += (atomic_load(&places[i].word) & (READY | RETIRED)) == READY;
    return counts;
}

size_t convop_trim(void)
{
    cvp_memo_purge();
    cvp_cudnn_handles_trim();
    return cvp_pool_trim();
}
