/* Single flight: of the threads that want one thing done, one does it. What is under way stands in
 * a list, and no lock is held while it is. */
#include <string.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/common/lock.h"
#include "src/operator/tuning/tuning.h"

/* Guarded by CVP_LOCK_TUNING. */
struct flight {
    struct flight *next;
    size_t refs; /* the thread that is at it, and those that wait for it */
    int over;
    pid_t pid; /* of the process that began it: a forked child has not the thread */
    char *texts[3];
};
static struct flight *flights;

static int is_of(const struct flight *f, const struct cvp_tune_key *key)
{
    return strcmp(f->texts[0], key->device) == 0 && strcmp(f->texts[1], key->software) == 0 &&
           strcmp(f->texts[2], key->problem) == 0;
}

static struct flight *create(const struct cvp_tune_key *key)
{
    const char *const texts[3] = {key->device, key->software, key->problem};
    size_t lengths[3], bytes = sizeof(struct flight);
    for (int i = 0; i < 3; i++) bytes += lengths[i] = strlen(texts[i]) + 1;
    struct flight *f = cvp_malloc(bytes);
    if (!f) return NULL;
    *f = (struct flight){.refs = 1, .pid = getpid()};
    char *at = (char *)(f + 1);
    for (int i = 0; i < 3; i++) {
        f->texts[i] = memcpy(at, texts[i], lengths[i]);
        at += lengths[i];
    }
    return f;
}

/* The one of the key that is under way in this process. Those of the parent are taken out. */
static struct flight **find(const struct cvp_tune_key *key, struct flight **dead)
{
    pid_t pid = getpid();
    struct flight **at = &flights;
    while (*at) {
        struct flight *f = *at;
        if (f->pid != pid) {
            *at = f->next;
            f->next = *dead;
            *dead = f;
        } else if (is_of(f, key)) {
            return at;
        } else {
            at = &f->next;
        }
    }
    return at;
}

static void free_all(struct flight *f)
{
    while (f) {
        struct flight *next = f->next;
        cvp_free(f);
        f = next;
    }
}

int cvp_tune_begin(const struct cvp_tune_key *key, int wait)
{
    struct flight *mine = create(key), *dead = NULL;
    cvp_lock(CVP_LOCK_TUNING);
    struct flight **at = find(key, &dead), *f = *at;
    if (!f && mine) {
        mine->next = NULL;
        *at = mine;
    }
    int begun = !f;
    if (f) {
        if (mine) mine->next = dead;
        dead = mine ? mine : dead;
    }
    if (f && wait) {
        f->refs++;
        while (!f->over) cvp_lock_wait(CVP_LOCK_TUNING);
        if (--f->refs == 0) {
            f->next = dead;
            dead = f;
        }
    }
    cvp_unlock(CVP_LOCK_TUNING);
    free_all(dead);
    return begun;
}

void cvp_tune_end(const struct cvp_tune_key *key)
{
    struct flight *dead = NULL;
    cvp_lock(CVP_LOCK_TUNING);
    struct flight **at = find(key, &dead), *f = *at;
    if (f) {
        *at = f->next;
        f->over = 1;
        if (--f->refs == 0) {
            f->next = dead;
            dead = f;
        }
        cvp_lock_wake(CVP_LOCK_TUNING);
    }
    cvp_unlock(CVP_LOCK_TUNING);
    free_all(dead);
}
