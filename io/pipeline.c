/* One lock, and one condition for each side. */
#include "io/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convop/registry.h"

struct worker {
    struct cvp_io_pipeline *pipeline;
    pthread_t thread;
    int number;
};

struct cvp_io_pipeline {
    pthread_mutex_t lock;
    pthread_cond_t work_there, done_there;
    cvp_io_work work;
    void *user;
    int64_t issued; /* tickets that were given to workers */
    int64_t taken;  /* tickets that the consumer has taken; the last one it may still hold */
    int64_t limit;  /* tickets in all; -1: stopped */
    int running;    /* tickets that are being worked on */
    int holds;      /* the consumer holds the slot of ticket taken - 1 */
    int quit;
    int slots, threads;
    pid_t process;
    unsigned char *done; /* a slot: its ticket is ready to be taken */
    struct worker *workers;
};

/* A ticket may be issued if its slot is free. */
static int may_issue(const struct cvp_io_pipeline *p)
{
    return p->issued < p->limit && p->issued - (p->taken - p->holds) < p->slots;
}

static void *run(void *arg)
{
    const struct worker *w = arg;
    struct cvp_io_pipeline *p = w->pipeline;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (!p->quit && !may_issue(p)) pthread_cond_wait(&p->work_there, &p->lock);
        if (p->quit) break;
        const int64_t ticket = p->issued++;
        const int slot = (int)(ticket % p->slots);
        p->running++;
        pthread_mutex_unlock(&p->lock);
        p->work(p->user, w->number, slot, ticket);
        pthread_mutex_lock(&p->lock);
        p->running--;
        p->done[slot] = 1;
        pthread_cond_signal(&p->done_there);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Signals are the host's: its threads take them. */
static void start_threads(struct cvp_io_pipeline *p, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads; i++) {
        p->workers[i] = (struct worker){.pipeline = p, .number = i};
        if (pthread_create(&p->workers[i].thread, NULL, run, &p->workers[i]) != 0) break;
        p->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

convop_status cvp_io_pipeline_create(int threads, int slots, cvp_io_work work, void *user,
                                     struct cvp_io_pipeline **pipeline)
{
    struct cvp_io_pipeline *p = calloc(1, sizeof *p);
    unsigned char *done = calloc((size_t)slots, 1);
    struct worker *workers = calloc((size_t)threads + 1, sizeof *workers);
    if (!p || !done || !workers) {
        free(p);
        free(done);
        free(workers);
        return convop_fail(CONVOP_E_NO_MEMORY, "no memory for %d reading threads", threads);
    }
    p->work = work;
    p->user = user;
    p->slots = slots;
    p->limit = -1;
    p->process = getpid();
    p->done = done;
    p->workers = workers;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work_there, NULL);
    pthread_cond_init(&p->done_there, NULL);
    start_threads(p, threads);
    *pipeline = p;
    return CONVOP_OK;
}

void cvp_io_pipeline_stop(struct cvp_io_pipeline *pipeline)
{
    struct cvp_io_pipeline *p = pipeline;
    pthread_mutex_lock(&p->lock);
    p->limit = -1;
    while (p->running) pthread_cond_wait(&p->done_there, &p->lock);
    p->issued = p->taken = 0;
    p->holds = 0;
    memset(p->done, 0, (size_t)p->slots);
    pthread_mutex_unlock(&p->lock);
}

void cvp_io_pipeline_start(struct cvp_io_pipeline *pipeline, int64_t limit)
{
    cvp_io_pipeline_stop(pipeline);
    cvp_io_pipeline_extend(pipeline, limit);
}

void cvp_io_pipeline_extend(struct cvp_io_pipeline *pipeline, int64_t limit)
{
    pthread_mutex_lock(&pipeline->lock);
    pipeline->limit = limit;
    pthread_cond_broadcast(&pipeline->work_there);
    pthread_mutex_unlock(&pipeline->lock);
}

int cvp_io_pipeline_take(struct cvp_io_pipeline *pipeline)
{
    struct cvp_io_pipeline *p = pipeline;
    int slot = -1;
    pthread_mutex_lock(&p->lock);
    p->holds = 0;
    pthread_cond_signal(&p->work_there);
    if (p->taken < p->limit) {
        slot = (int)(p->taken % p->slots);
        if (p->threads == 0 && p->issued == p->taken) {
            p->issued++;
            p->work(p->user, 0, slot, p->taken);
            p->done[slot] = 1;
        }
        while (!p->done[slot]) pthread_cond_wait(&p->done_there, &p->lock);
        p->done[slot] = 0;
        p->taken++;
        p->holds = 1;
    }
    pthread_mutex_unlock(&p->lock);
    return slot;
}

int cvp_io_pipeline_is_foreign(const struct cvp_io_pipeline *pipeline)
{
    return pipeline->process != getpid();
}

void cvp_io_pipeline_destroy(struct cvp_io_pipeline **pipeline)
{
    struct cvp_io_pipeline *p = *pipeline;
    if (!p) return;
    *pipeline = NULL;
    if (!cvp_io_pipeline_is_foreign(p)) {
        pthread_mutex_lock(&p->lock);
        p->quit = 1;
        pthread_cond_broadcast(&p->work_there);
        pthread_mutex_unlock(&p->lock);
        for (int i = 0; i < p->threads; i++) pthread_join(p->workers[i].thread, NULL);
        pthread_cond_destroy(&p->work_there);
        pthread_cond_destroy(&p->done_there);
        pthread_mutex_destroy(&p->lock);
    }
    free(p->done);
    free(p->workers);
    free(p);
}
