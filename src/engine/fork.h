/* What has threads hears of forks: a forked child has only the thread that forked, and whatever
 * another thread held or was changing at that moment stays so for ever. */
#ifndef CVP_ENGINE_FORK_H
#define CVP_ENGINE_FORK_H

#include "convop/base.h"

/* Embedded in the object that wants to hear. prepare and parent may be NULL. */
struct cvp_fork_hook {
    void (*prepare)(struct cvp_fork_hook *hook); /* before: takes the object's lock */
    void (*parent)(struct cvp_fork_hook *hook);  /* after, in the parent: releases it */
    void (*child)(struct cvp_fork_hook *hook);   /* after, in the child, which has one thread */
    struct cvp_fork_hook *next, *previous;
};

/* From here to cvp_fork_unwatch the functions are called, by any thread that forks, with the list's
 * lock held. Order of locks: the list's, then the objects'. NO_MEMORY */
convop_status cvp_fork_watch(struct cvp_fork_hook *hook);
void cvp_fork_unwatch(struct cvp_fork_hook *hook);

#endif
