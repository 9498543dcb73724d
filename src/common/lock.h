/* Locks of what the whole process has once. All are leaves: whoever holds one takes no other,
 * allocates nothing and calls no code of others. They are free in a forked child, whatever other
 * threads did. */
#ifndef CVP_COMMON_LOCK_H
#define CVP_COMMON_LOCK_H

enum cvp_lock {
    CVP_LOCK_BUFFERS,  /* the pool of buffers: buffer.c */
    CVP_LOCK_SETTINGS, /* the texts of the settings: settings.c */
    CVP_LOCK_LOG,      /* the process sink: log.c */
    CVP_LOCK_ROWS,     /* implementation rows: src/operator/convolution/rows.c */
    CVP_LOCK_PLUGINS,  /* the list of plug-ins: src/operator/plugin/ */
    CVP_LOCK_TUNING,   /* the tuning cache: src/operator/tuning/ */
    CVP_LOCK_HANDLES,  /* free handles of cuDNN: src/cuda/handle.c */
    CVP_LOCK_COUNT
};

void cvp_lock(enum cvp_lock lock);
void cvp_unlock(enum cvp_lock lock);

/* For a holder of the lock: waits, with the lock free, until somebody wakes those who wait at it,
 * or for no reason at all; so look again. A forked child has nobody who waits. */
void cvp_lock_wait(enum cvp_lock lock);
void cvp_lock_wake(enum cvp_lock lock);

#endif
