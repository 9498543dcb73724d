/* What a context resolves to inside the library. */
#ifndef CVP_ENGINE_CONTEXT_H
#define CVP_ENGINE_CONTEXT_H

#include "convop/context.h"
#include "src/common/log.h"

struct cvp_pool;

/* Immutable after create. */
struct convop_context {
    uint64_t serial; /* no other context of the process ever has it */
    int num_threads;
    convop_allocator allocator;       /* alloc NULL: the pooled one */
    convop_parallel_for parallel_for; /* NULL: pool */
    void *parallel_for_user;
    struct cvp_pool *pool; /* owned if own_pool; NULL where parallel_for is the host's */
    int own_pool;
    struct cvp_sink sink;
    convop_math math; /* UNSET: as the setting */
};

/* context, or the process default for NULL, which is made at first use.
 * INVALID if a setting that it needs does not parse; NO_MEMORY. *out is never NULL on success. */
convop_status cvp_context_get(const convop_context *context, const convop_context **out);

#endif
