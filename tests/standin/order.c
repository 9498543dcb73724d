/* The order of work. Each stream counts its work, and a clock says for each stream how much of it
 * lies before a point: of a stream, an event, a piece of work. The host has one clock for all its
 * threads: what one of them has waited for lies before all that any of them does next. A stream's
 * thread runs a piece when all that its clock names is done; two pieces of which neither is in the
 * other's clock have no order. */
#include <string.h>

#include "tests/standin/state.h"

static struct clock host;
static unsigned done[MOST_STREAMS];
static unsigned slots;

void standin_join(struct clock *clock, const struct clock *other)
{
    for (int i = 0; i < MOST_STREAMS; i++)
        if (other->at[i] > clock->at[i]) clock->at[i] = other->at[i];
}

int standin_is_done(const struct clock *clock)
{
    for (unsigned i = 0; i < slots; i++)
        if (done[i] < clock->at[i]) return 0;
    return 1;
}

void standin_wait_quietly(const struct clock *clock)
{
    const struct clock until = *clock;
    while (!standin_is_done(&until)) pthread_cond_wait(&standin_changed, &standin_lock);
}

void standin_wait(const struct clock *clock)
{
    const struct clock until = *clock;
    standin_wait_quietly(&until);
    standin_join(&host, &until);
}

void standin_wait_for_context(const struct CUctx_st *context)
{
    struct clock all = {{0}};
    const struct CUstream_st *s;
    for (size_t i = 0; (s = standin_at(STANDIN_STREAM, i)); i++)
        if (!context || s->context == context) standin_join(&all, &s->clock);
    const struct CUctx_st *c;
    for (size_t i = 0; (c = standin_at(STANDIN_CONTEXT, i)); i++)
        for (int j = 0; j < 2; j++)
            if ((!context || c == context) && c->defaults[j])
                standin_join(&all, &c->defaults[j]->clock);
    standin_wait(&all);
}

struct work *standin_work(const char *what, void (*run)(struct op *op, void *data), void *data)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w) abort();
    *w = (struct work){.refs = 1, .what = what, .run = run, .data = data};
    return w;
}

void standin_release_work(struct work *work)
{
    if (--work->refs > 0) return;
    if (work->end) work->end(work->data);
    free(work);
}

/* Without the lock between both ends. */
static void run(struct CUstream_st *stream, struct op *op)
{
    pthread_mutex_unlock(&standin_lock);
    op->work->run(op, op->work->data);
    standin_touched(op);
    pthread_mutex_lock(&standin_lock);
    stream->ms += op->work->ms;
    stream->first = op->next;
    if (!stream->first) stream->last = &stream->first;
    done[stream->slot] = op->number;
    standin_release_work(op->work);
    free(op->touched);
    free(op);
    pthread_cond_broadcast(&standin_changed);
}

static int is_ready(const struct op *op)
{
    for (unsigned i = 0; i < slots; i++)
        if (i != op->stream->slot && done[i] < op->clock.at[i]) return 0;
    return 1;
}

static void *serve(void *stream_)
{
    struct CUstream_st *stream = stream_;
    pthread_mutex_lock(&standin_lock);
    while (!stream->ends || stream->first) {
        if (stream->first && is_ready(stream->first))
            run(stream, stream->first);
        else
            pthread_cond_wait(&standin_changed, &standin_lock);
    }
    pthread_mutex_unlock(&standin_lock);
    return NULL;
}

struct CUstream_st *standin_stream_make(struct CUctx_st *context, int is_blocking)
{
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (!s) abort();
    if (slots == MOST_STREAMS) standin_misuse(NULL, "more than %d streams", MOST_STREAMS);
    s->context = context;
    s->slot = slots++;
    s->is_blocking = is_blocking;
    s->last = &s->first;
    if (pthread_create(&s->thread, NULL, serve, s) != 0) abort();
    return s;
}

/* It may have work left, which is done first; that orders nothing. */
void standin_stream_end(struct CUstream_st *stream)
{
    stream->ends = 1;
    pthread_cond_broadcast(&standin_changed);
    pthread_mutex_unlock(&standin_lock);
    pthread_join(stream->thread, NULL);
    pthread_mutex_lock(&standin_lock);
    free(stream);
}

struct CUstream_st *standin_stream_of(struct CUstream_st *handle)
{
    struct CUctx_st *context = standin_current();
    const uintptr_t value = (uintptr_t)handle;
    if (value <= 2) {
        struct CUstream_st **s = &context->defaults[value == 2];
        if (!*s) {
            *s = standin_stream_make(context, 1);
            (*s)->is_legacy = value != 2;
        }
        return *s;
    }
    standin_expect(STANDIN_STREAM, handle);
    if (handle->context != context)
        standin_misuse(NULL, "the stream is of another context than the current one");
    return handle;
}

/* The legacy default stream comes after all blocking streams of its context, and they after it. */
static void join_default(struct CUstream_st *stream)
{
    struct CUctx_st *context = stream->context;
    if (!stream->is_legacy) {
        if (stream->is_blocking && context->defaults[0])
            standin_join(&stream->clock, &context->defaults[0]->clock);
        return;
    }
    if (context->defaults[1]) standin_join(&stream->clock, &context->defaults[1]->clock);
    const struct CUstream_st *s;
    for (size_t i = 0; (s = standin_at(STANDIN_STREAM, i)); i++)
        if (s->context == context && s->is_blocking) standin_join(&stream->clock, &s->clock);
}

void standin_enqueue(struct CUstream_st *stream, struct work *work)
{
    standin_capture_implicit(stream);
    if (stream->capture) {
        standin_capture_work(stream->capture, work);
        return;
    }
    struct op *op = calloc(1, sizeof *op);
    if (!op) abort();
    standin_join(&stream->clock, &host);
    join_default(stream);
    op->work = work;
    op->stream = stream;
    op->number = stream->clock.at[stream->slot] = ++stream->enqueued;
    op->clock = stream->clock;
    *stream->last = op;
    stream->last = &op->next;
    pthread_cond_broadcast(&standin_changed);
}
