/* The lines of events.h; docs/tuning.md has their forms. */
#include "src/engine/events.h"

#include "src/common/clock.h"
#include "src/common/log.h"
#include "src/common/status.h"

static const char *kind_of(const convop_engine *engine)
{
    return convop_engine_get_kind(engine) == CONVOP_ENGINE_NAIVE ? "naive" : "threaded";
}

void cvp_event_push(const convop_engine *engine, const char *task)
{
    if (cvp_verbose(3)) cvp_log(NULL, "engine,%s,push,%s", kind_of(engine), task ? task : "task");
}

double cvp_event_start(const convop_engine *engine, const char *task)
{
    if (!cvp_verbose(3)) return 0;
    cvp_log(NULL, "engine,%s,start,%s", kind_of(engine), task);
    return cvp_now_ms();
}

void cvp_event_end(const convop_engine *engine, const char *task, convop_status status,
                   double start)
{
    if (!cvp_verbose(3)) return;
    /* The level may have risen while the task ran. */
    double ms = start > 0 ? cvp_now_ms() - start : 0;
    cvp_log(NULL, "engine,%s,end,%s,%s,%.4f", kind_of(engine), task, convop_status_name(status),
            ms);
}

void cvp_event_wait(const convop_engine *engine, convop_var var)
{
    if (!cvp_verbose(3)) return;
    if (var)
        cvp_log(NULL, "engine,%s,wait,%llu", kind_of(engine), (unsigned long long)var);
    else
        cvp_log(NULL, "engine,%s,wait,all", kind_of(engine));
}
