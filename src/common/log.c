/* One writer of lines, and the process sink.
 *
 * The sink runs with no lock held. Each call of it is counted under the number of its setting, so
 * that convop_set_log_sink() can wait until the sink it replaced runs no more; after that the host
 * may free what `user` points to. A sink may set another sink: it then waits for nobody, least of
 * all for itself. */
#include "src/common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/common/lock.h"
#include "src/common/settings.h"
#include "src/common/text.h"

#define LINE_SIZE 1024
#define SLOTS     16

/* Guarded by CVP_LOCK_LOG. */
static struct {
    struct cvp_sink sink;
    unsigned setting;       /* counts convop_set_log_sink() */
    unsigned active[SLOTS]; /* calls that run, by setting % SLOTS */
    pid_t pid; /* whose calls: those of other threads do not run on in a forked child */
} process;

static _Thread_local int inside; /* calls of the process sink that this thread is in */

static void forget_parent(void)
{
    pid_t pid = getpid();
    if (process.pid == pid) return;
    process.pid = pid;
    memset(process.active, 0, sizeof(process.active));
}

/* The sink now in force, counted as running in *slot until leave(). */
static struct cvp_sink enter(unsigned *slot)
{
    cvp_lock(CVP_LOCK_LOG);
    forget_parent();
    struct cvp_sink sink = process.sink;
    *slot = process.setting % SLOTS;
    process.active[*slot]++;
    cvp_unlock(CVP_LOCK_LOG);
    inside++;
    return sink;
}

static void leave(unsigned slot)
{
    inside--;
    cvp_lock(CVP_LOCK_LOG);
    /* 0 if the sink forked and the child has forgotten about it. */
    if (process.active[slot] > 0) process.active[slot]--;
    cvp_unlock(CVP_LOCK_LOG);
}

static int is_active(unsigned slot)
{
    cvp_lock(CVP_LOCK_LOG);
    int active = process.active[slot] > 0;
    cvp_unlock(CVP_LOCK_LOG);
    return active;
}

void convop_set_log_sink(convop_log_sink sink, void *user)
{
    cvp_lock(CVP_LOCK_LOG);
    forget_parent();
    unsigned slot = process.setting++ % SLOTS;
    int is_hosts = process.sink.write != NULL;
    process.sink = (struct cvp_sink){sink, user};
    cvp_unlock(CVP_LOCK_LOG);
    if (!is_hosts) return;
    const struct timespec pause = {0, 50000};
    while (inside == 0 && is_active(slot)) nanosleep(&pause, NULL);
}

int cvp_verbose(int level)
{
    return cvp_setting_int_or(CVP_SETTING_VERBOSE, 0) >= level;
}

void cvp_log(const struct cvp_sink *sink, const char *format, ...)
{
    static const char prefix[] = "convop,v1,";
    char line[LINE_SIZE];
    memcpy(line, prefix, sizeof(prefix));
    va_list args;
    va_start(args, format);
    vsnprintf(line + sizeof(prefix) - 1, sizeof(line) - sizeof(prefix) + 1, format, args);
    va_end(args);
    cvp_text_one_line(line);
    if (sink != NULL && sink->write != NULL) {
        sink->write(sink->user, line);
        return;
    }
    unsigned slot;
    struct cvp_sink to = enter(&slot);
    if (to.write != NULL) {
        to.write(to.user, line);
    } else {
        fprintf(stderr, "%s\n", line);
    }
    leave(slot);
}
