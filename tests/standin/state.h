/* What the files of the stand-in share. One lock guards all; work on streams runs without it. */
#ifndef TEST_STANDIN_STATE_H
#define TEST_STANDIN_STATE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/cuda/driver.h"
#include "tests/standin/standin.h"

extern pthread_mutex_t standin_lock;
extern pthread_cond_t standin_changed; /* with the lock; for whoever waits for anything */

/* ---- calls.c: counting, failing, misuse ------------------------------------------------------ */

/* Begins a call, by its name: 0, or what it is to answer. */
unsigned standin_enter(const char *symbol);
#define ENTER()                                                                                    \
    do {                                                                                           \
        const unsigned made_to_fail_ = standin_enter(__func__);                                    \
        if (made_to_fail_) return made_to_fail_;                                                   \
    } while (0)
/* One more of what standin.calls counts, with the lock. */
void standin_count(const char *what);

/* Ends the process. `what` is the call or the work that did it; NULL: the thread's last call. */
__attribute__((noreturn, format(printf, 2, 3))) void standin_misuse(const char *what,
                                                                    const char *format, ...);

/* ---- objects.c: what is there, with the lock ------------------------------------------------- */

void standin_add(enum standin_kind kind, const void *object);
void standin_remove(enum standin_kind kind, const void *object);
int standin_is_live(enum standin_kind kind, const void *object);
/* Misuse unless it is live. */
void standin_expect(enum standin_kind kind, const void *object);
const void *standin_at(enum standin_kind kind, size_t i); /* NULL: no more */
long standin_live(enum standin_kind kind);
void standin_keeps(enum standin_kind kind);
const char *standin_kind_name(enum standin_kind kind);
void standin_check_leaks(void);

/* ---- order.c: clocks, streams, work ---------------------------------------------------------- */

/* Streams ever made in a process. A clock says how much of each stream's work lies before it. */
#define MOST_STREAMS 512
struct clock {
    unsigned at[MOST_STREAMS];
};

struct op;

/* What a stream does: once, or each time a graph is launched. */
struct work {
    int refs;
    const char *what; /* the call that made it */
    void (*run)(struct op *op, void *data);
    void (*end)(void *data);
    void *data;
    double ms; /* what it takes */
};
struct work *standin_work(const char *what, void (*run)(struct op *op, void *data), void *data);

/* A range of an allocation that an op touched. */
struct touched {
    struct allocation *allocation;
    size_t begin, end;
    int writes;
};

/* Work on a stream. */
struct op {
    struct op *next;
    struct work *work;
    struct CUstream_st *stream;
    unsigned number;    /* of the stream's work, from 1 */
    struct clock clock; /* what lies before it, and itself */
    struct touched *touched;
    size_t touches;
};

struct CUctx_st {
    struct CUctx_st *next;
    int device;
    unsigned long long id;           /* of this life of it */
    struct CUstream_st *defaults[2]; /* the legacy one and the one of CU_STREAM_PER_THREAD */
};

struct CUstream_st {
    struct CUctx_st *context;
    unsigned slot, enqueued;
    int is_legacy, is_blocking, ends;
    pthread_t thread;
    struct op *first, **last;
    struct clock clock;
    double ms;                  /* its work so far */
    struct CUgraph_st *capture; /* its work goes there */
};

struct CUevent_st {
    struct CUctx_st *context;
    int has_time, is_recorded;
    struct clock clock;
    double ms;
    struct CUgraph_st *capture; /* it was recorded into one */
};

/* All with the lock. */
struct CUstream_st *standin_stream_make(struct CUctx_st *context, int is_blocking);
void standin_stream_end(struct CUstream_st *stream);
/* The stream of a handle (NULL, 1 and 2 are the default ones) in the current context, which must be
 * its own. */
struct CUstream_st *standin_stream_of(struct CUstream_st *handle);
/* Takes the work. */
void standin_enqueue(struct CUstream_st *stream, struct work *work);
void standin_release_work(struct work *work);
void standin_join(struct clock *clock, const struct clock *other);
int standin_is_done(const struct clock *clock);
/* Waits without the lock; what comes later on any stream comes after. */
void standin_wait(const struct clock *clock);
void standin_wait_quietly(const struct clock *clock); /* orders nothing */
/* All work of a context, of all contexts for NULL. */
void standin_wait_for_context(const struct CUctx_st *context);

/* ---- context.c ------------------------------------------------------------------------------- */

/* The current one; misuse if there is none. */
struct CUctx_st *standin_current(void);
struct CUctx_st *standin_context_create(int device);
void standin_context_reuse(struct CUctx_st *context);
void standin_context_destroy(struct CUctx_st *context);
void standin_expect_device(int device);

/* ---- memory.c -------------------------------------------------------------------------------- */

/* The host's address of what an op touches, after all checks. */
void *standin_touch(struct op *op, unsigned long long address, size_t bytes, int writes);
/* Checks what was touched against all other work; at the end of an op, without the lock. */
void standin_touched(struct op *op);
/* With the lock. 0: there is no room. */
unsigned long long standin_alloc(struct CUctx_st *context, size_t bytes, int in_order);
/* Misuse if there is none that begins there and lives; of another context. */
void standin_expect_alloc(struct CUctx_st *context, unsigned long long address);
size_t standin_alloc_bytes(unsigned long long address);
/* By work on a stream, or at once (NULL). */
void standin_free(unsigned long long address, const struct op *op);
int standin_is_device_address(const void *address);
struct CUctx_st *standin_owner(unsigned long long address); /* NULL: of nobody */
void standin_expect_host(const void *address);
void standin_limit_memory(int device, size_t bytes);
void standin_memory_info(int device, size_t *available, size_t *total);
void standin_write(unsigned long long to, const void *from, size_t bytes);
void standin_read(void *to, unsigned long long from, size_t bytes);

/* ---- capture.c, with the lock ---------------------------------------------------------------- */

/* For a call that a capture does not bear in any thread: one that allocates, or waits for all. */
void standin_is_unsafe(void);
/* For a call that waits for or asks about a stream. */
void standin_needs_no_capture(const struct CUstream_st *stream);
void standin_capture_work(struct CUgraph_st *graph, struct work *work);
void standin_capture_implicit(const struct CUstream_st *stream);

/* ---- module.c, cudnn_real.c, cudnn_execute.c ------------------------------------------------- */

void standin_set_kernels(const struct standin_kernels *kernels);
void standin_plan_here(int yes);
int standin_has_real_cudnn(void);
void standin_engines_need(size_t bytes);
void standin_launches_take(double (*ms)(const char *kernel, unsigned threads));
void standin_engine_takes(int engine, double ms);

/* ---- what the library exports ---------------------------------------------------------------- */

#pragma GCC visibility push(default)
#define CVP_DRIVER(member, symbol, parameters) unsigned symbol parameters;
#include "src/cuda/driver_list.h"
#undef CVP_DRIVER
extern const struct standin standin_control;
#pragma GCC visibility pop

#endif
