/* A context says with what a call computes: how many threads and whose, whose memory, whose log.
 * NULL is the process default. convop_exec carries what belongs to a single call.
 *
 * Since 0.1. */
#ifndef CONVOP_CONTEXT_H
#define CONVOP_CONTEXT_H

#include "convop/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct convop_context convop_context;

/** Memory hooks. alloc returns `bytes` bytes aligned to `alignment` (a power of two), or NULL;
 *  release gets back a pointer with the size it was asked for. Both may be called from any thread
 *  and run with no lock of convop held. Memory of the CPU alone: scratch on a GPU is the driver's,
 *  in the order of the stream. */
typedef struct convop_allocator {
    void *(*alloc)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *memory, size_t bytes);
    void *user;
} convop_allocator;

/** The host's parallel loop. It replaces
 *      for (i = 0; i < n; i++) body(arg, i);
 *  in any order and on any threads, and returns when all n calls have returned.
 *  n is never above the context's number of threads. */
typedef void (*convop_parallel_body)(void *arg, int64_t i);
typedef void (*convop_parallel_for)(void *user, int64_t n, convop_parallel_body body, void *arg);

/** Receives one line of log, without newline. Runs with no lock of convop held, on any thread. */
typedef void (*convop_log_sink)(void *user, const char *line);

/** How far results may be off for speed; docs/numerics.md has the bounds. */
typedef enum convop_math {
    CONVOP_MATH_UNSET = 0,   /* as the setting "math" */
    CONVOP_MATH_STRICT = 1,  /* no further than sums of products in their type are */
    CONVOP_MATH_DEFAULT = 2, /* implementations with a wider bound too, as Winograd's */
    CONVOP_MATH_TF32 = 3     /* products in TF32 too, on devices that have it */
} convop_math;

typedef struct convop_context_options {
    size_t struct_size;
    int num_threads;            /* 0: the setting "num_threads"; with parallel_for: its threads */
    convop_allocator allocator; /* alloc == NULL: convop's pooled allocator */
    convop_parallel_for parallel_for; /* NULL: convop's own pool of threads */
    void *parallel_for_user;
    convop_log_sink log; /* NULL: the process sink, see convop_set_log_sink */
    void *log_user;
    convop_math math; /* of calls with this context */
} convop_context_options;

#define CONVOP_CONTEXT_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(convop_context_options), 0, {NULL, NULL, NULL}, NULL, NULL, NULL, NULL,             \
            CONVOP_MATH_UNSET                                                                      \
    }

/** Makes a context. Immutable and usable from many threads once made.
 *  @param options  borrowed for the call; NULL is all defaults
 *  @param out      the context, owned by the caller; NULL on failure
 *  @return INVALID if num_threads is negative or above 4096, math is no convop_math, or only one
 *          memory hook is given; NO_MEMORY */
CONVOP_API convop_status convop_context_create(const convop_context_options *options,
                                               convop_context **out);

/** Destroys *context and sets it to NULL. No call may be running with it. Accepts NULL. */
CONVOP_API void convop_context_destroy(convop_context **context);

/** Threads that a parallel loop of this context uses at most, the caller's among them; >= 1.
 *  NULL is the process default. 0 if the setting "num_threads" does not parse. */
CONVOP_API int convop_context_num_threads(const convop_context *context);

/** The library's parallel loop, for kernels of others. It replaces body(arg, 0, 0, n) by calls
 * whose ranges [begin, end) cover 0..n-1 once, on any threads, and returns when all have returned.
 *  A lane, 0 <= lane < convop_context_num_threads(context), runs one range at a time, so that
 *  scratch may be kept for each lane; of a convolution's row p->threads bounds it. Inside another
 *  loop, or while a loop of another thread has the pool, all runs in the calling thread.
 *  @param context  NULL is the process default
 *  Never fails; does nothing if n < 1. Thread-safe. Since 0.1. */
CONVOP_API void convop_parallel(const convop_context *context, int64_t n,
                                void (*body)(void *arg, int lane, int64_t begin, int64_t end),
                                void *arg);

/** What belongs to one call. NULL is all defaults. */
typedef struct convop_exec {
    size_t struct_size;
    const convop_context *context; /* NULL: the process default */
    void *stream;                  /* a CUstream for tensors on a GPU; NULL on the CPU */
    void *workspace;               /* scratch memory of the caller, on the tensors' device, of any
                                      alignment; NULL: allocated */
    size_t workspace_bytes;        /* its size; Convolution runs a row that fits,
                                      other operators allocate what they lack */
    int is_train;                  /* 1: operators that know training (BatchNorm) train */
} convop_exec;

#define CONVOP_EXEC_INIT                                                                           \
    {                                                                                              \
        sizeof(convop_exec), NULL, NULL, NULL, 0, 0                                                \
    }

/** Gives memory that the process default allocator keeps for later back to the system, forgets the
 *  plans that are kept for calls like earlier ones, and ends cuDNN's handles that nobody uses.
 *  @return bytes given back. Thread-safe. Since 0.1. */
CONVOP_API size_t convop_trim(void);

/** Sets where the process default writes its lines; NULL is stderr. Lines are written only
 *  as the setting "verbose" asks: none by default. When it returns, the sink before it runs no more
 *  and its user may go; only a call from inside a sink does not wait for that. Thread-safe.
 *  Since 0.1. */
CONVOP_API void convop_set_log_sink(convop_log_sink sink, void *user);

#ifdef __cplusplus
}
#endif

#endif
