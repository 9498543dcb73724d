/* Contexts: options checked once, a pool of its own or the process default's. */
#include "src/engine/context.h"

#include <stdatomic.h>
#include <stddef.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/engine/pool.h"
#include "src/engine/thread.h"

/* Made at first use and never freed: a host's threads may still compute while the process ends. */
static _Atomic(convop_context *) process_default;

static _Atomic uint64_t num_made;

static uint64_t next_serial(void)
{
    return atomic_fetch_add_explicit(&num_made, 1, memory_order_relaxed) + 1;
}

/* Two threads may make one each; the first to put it there wins. No lock: a child that is forked
 * meanwhile finds either the context or none. */
static convop_status make_default(const convop_context **out)
{
    int threads;
    CVP_RETURN_IF_ERROR(cvp_thread_count(0, &threads));
    convop_context *context = cvp_calloc(1, sizeof(*context));
    if (context != NULL) context->pool = cvp_pool_create(threads);
    if (context == NULL || context->pool == NULL) {
        cvp_free(context);
        return convop_fail(CONVOP_E_NO_MEMORY, "process default context: %d threads", threads);
    }
    context->serial = next_serial();
    context->num_threads = threads;
    context->own_pool = 1;
    convop_context *there = NULL;
    if (!atomic_compare_exchange_strong(&process_default, &there, context)) {
        cvp_pool_destroy(context->pool);
        cvp_free(context);
        context = there;
    }
    *out = context;
    return CONVOP_OK;
}

convop_status cvp_context_get(const convop_context *context, const convop_context **out)
{
    if (context == NULL) context = atomic_load_explicit(&process_default, memory_order_acquire);
    if (context == NULL) return make_default(out);
    *out = context;
    return CONVOP_OK;
}

static convop_status check(const convop_context_options *options)
{
    if (options->num_threads < 0 || options->num_threads > CVP_MAX_THREADS) {
        return convop_fail(CONVOP_E_INVALID,
                           "convop_context_create: num_threads is %d, must be 0..%d",
                           options->num_threads, CVP_MAX_THREADS);
    }
    if ((unsigned)options->math > CONVOP_MATH_TF32) {
        return convop_fail(CONVOP_E_INVALID, "convop_context_create: math is %d, must be 0..%d",
                           (int)options->math, (int)CONVOP_MATH_TF32);
    }
    if ((options->allocator.alloc == NULL) != (options->allocator.release == NULL)) {
        return convop_fail(
            CONVOP_E_INVALID,
            "convop_context_create: allocator has %s and no %s, must have both or none",
            options->allocator.alloc != NULL ? "alloc" : "release",
            options->allocator.alloc != NULL ? "release" : "alloc");
    }
    return CONVOP_OK;
}

/* The default's pool where its size is what is asked for, else one of its own. */
static convop_status choose_pool(convop_context *context, int asked)
{
    const convop_context *shared = NULL;
    convop_status status = CONVOP_OK;
    if (asked == 0) {
        status = cvp_context_get(NULL, &shared);
    } else {
        shared = atomic_load_explicit(&process_default, memory_order_acquire);
    }
    if (status != CONVOP_OK) return status;
    if (shared != NULL && (asked == 0 || asked == shared->num_threads)) {
        context->num_threads = shared->num_threads;
        context->pool = shared->pool;
        return CONVOP_OK;
    }
    context->num_threads = asked;
    context->pool = cvp_pool_create(asked);
    context->own_pool = 1;
    if (context->pool != NULL) return CONVOP_OK;
    return convop_fail(CONVOP_E_NO_MEMORY, "convop_context_create: a pool of %d threads", asked);
}

static convop_status fill(convop_context *context, const convop_context_options *options)
{
    context->serial = next_serial();
    context->allocator = options->allocator;
    context->parallel_for = options->parallel_for;
    context->parallel_for_user = options->parallel_for_user;
    context->sink.write = options->log;
    context->sink.user = options->log_user;
    context->math = options->math;
    if (options->parallel_for == NULL) return choose_pool(context, options->num_threads);
    return cvp_thread_count(options->num_threads, &context->num_threads);
}

convop_status convop_context_create(const convop_context_options *options, convop_context **out)
{
    convop_context_options o = CONVOP_CONTEXT_OPTIONS_INIT;
    if (out == NULL) return convop_fail(CONVOP_E_INVALID, "convop_context_create: out is NULL");
    *out = NULL;
    if (options != NULL) {
        CVP_RETURN_IF_ERROR(
            cvp_read_struct(&o, sizeof(o), options, "convop_context_create: options"));
    }
    CVP_RETURN_IF_ERROR(check(&o));
    convop_context *context = cvp_calloc(1, sizeof(*context));
    if (context == NULL) {
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_context_create: %zu bytes",
                           sizeof(*context));
    }
    convop_status status = fill(context, &o);
    if (status != CONVOP_OK) {
        convop_context_destroy(&context);
        return status;
    }
    *out = context;
    return CONVOP_OK;
}

void convop_context_destroy(convop_context **context)
{
    if (context == NULL || *context == NULL) return;
    if ((*context)->own_pool) cvp_pool_destroy((*context)->pool);
    cvp_free(*context);
    *context = NULL;
}

int convop_context_num_threads(const convop_context *context)
{
    const convop_context *c = NULL;
    return cvp_context_get(context, &c) == CONVOP_OK ? c->num_threads : 0;
}
