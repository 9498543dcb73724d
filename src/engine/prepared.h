/* Tasks that are made once and pushed many times: such a push allocates nothing and looks nothing
 * up. For those who run the same graph again and again. */
#ifndef CVP_ENGINE_PREPARED_H
#define CVP_ENGINE_PREPARED_H

#include "convop/engine.h"

struct cvp_task;

/* Makes a task without pushing it. It has no destroy. Its variables must outlive it.
 * @return as convop_engine_push; *out is then NULL */
convop_status cvp_prepared_create(convop_engine *engine, const convop_task *task,
                                  struct cvp_task **out);

/* Pushes it. It must have ended since the last push; not from within a task.
 * @return STATE in a forked child */
convop_status cvp_prepared_push(convop_engine *engine, struct cvp_task *task);

/* Frees *task, which must have ended, and sets it to NULL. Accepts NULL. */
void cvp_prepared_destroy(struct cvp_task **task);

/* Threads that run tasks at once: 1 for the naive kind. */
int cvp_engine_num_workers(const convop_engine *engine);

/* 1 in a task of this engine: it must not wait for others. */
int cvp_engine_is_inside(const convop_engine *engine);

#endif
