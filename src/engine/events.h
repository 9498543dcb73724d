/* Lines of log about what engines do, at verbose level 3. To be called with no lock held: a sink is
 * the host's code. */
#ifndef CVP_ENGINE_EVENTS_H
#define CVP_ENGINE_EVENTS_H

#include "convop/engine.h"

/* A task is about to be pushed: from then on it may start at any time. */
void cvp_event_push(const convop_engine *engine, const char *task);

/* A task runs, in this thread: what cvp_event_start returns is for cvp_event_end. */
double cvp_event_start(const convop_engine *engine, const char *task);
void cvp_event_end(const convop_engine *engine, const char *task, convop_status status,
                   double start);

/* A thread is about to wait for a variable; 0: for all tasks. */
void cvp_event_wait(const convop_engine *engine, convop_var var);

#endif
