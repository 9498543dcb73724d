/* Threads that work ahead: tickets 0, 1, 2, ... are worked on by any thread in any order and taken
 * by one consumer in theirs. Which thread did what is not to be seen from outside. */
#ifndef CVP_IO_PIPELINE_H
#define CVP_IO_PIPELINE_H

#include "convop/base.h"

struct cvp_io_pipeline;

/* Works on a ticket; what comes out goes to place `slot`. `worker` says whose scratch may be used.
 * Runs on threads of the pipeline, or on the consumer's if there are none. */
typedef void (*cvp_io_work)(void *user, int worker, int slot, int64_t ticket);

/* slots: how many tickets may be worked on or wait to be taken. threads 0: everything happens in
 * take(). Threads that the system refuses are done without. */
convop_status cvp_io_pipeline_create(int threads, int slots, cvp_io_work work, void *user,
                                     struct cvp_io_pipeline **pipeline);

/* Drops what was done and begins at ticket 0, after what is being worked on has ended. Between
 * stop and start no thread touches the user's data. */
void cvp_io_pipeline_stop(struct cvp_io_pipeline *pipeline);
void cvp_io_pipeline_start(struct cvp_io_pipeline *pipeline, int64_t limit);

/* Raises the number of tickets. */
void cvp_io_pipeline_extend(struct cvp_io_pipeline *pipeline, int64_t limit);

/* Waits for the next ticket and gives its slot, which is the consumer's until the next call of
 * take, stop or destroy; -1 behind the limit. */
int cvp_io_pipeline_take(struct cvp_io_pipeline *pipeline);

/* Ends the threads after what they are working on. In a forked child, which has none of them, only
 * the memory is given back. Accepts NULL. */
void cvp_io_pipeline_destroy(struct cvp_io_pipeline **pipeline);

/* 1 in a child that was forked after create: only destroy may be called. */
int cvp_io_pipeline_is_foreign(const struct cvp_io_pipeline *pipeline);

#endif
