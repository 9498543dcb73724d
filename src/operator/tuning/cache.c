/* The cache of this process; see cache.h.
 *
 * Files are read and written by one thread at a time, as a flight of its own, with no lock held;
 * CVP_LOCK_TUNING only guards memory. A file that has changed is read whole, into a new index, and
 * what is in no file is carried over: so a record that others have forgotten goes here too. */
#include "src/operator/tuning/cache.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/log.h"
#include "src/common/status.h"
#include "src/operator/tuning/compact.h"
#include "src/operator/tuning/host.h"
#include "src/operator/tuning/scan.h"

/* A look at the file costs a microsecond, a reading up to some milliseconds. */
#define LOOK_MS       100
#define LOOK_PER_READ 20
#define COMPACT_LINES 64 /* shorter files are left as they are */

struct cvp_tune_index cvp_tune_user = {.limit = CVP_TUNE_MAX_RECORDS};
struct cvp_tune_index cvp_tune_system = {.limit = CVP_TUNE_MAX_RECORDS};

/* What is known of the file. */
struct mirror {
    char path[CVP_TUNE_PATH];
    char why[CVP_TUNE_WHY]; /* the last writing failed, or it is closed */
    int is_closed;          /* there is none, or it is not ours to write to */
    struct cvp_tune_stamp stamp;
    size_t lines, wasted; /* wasted: bad or superseded */
};

/* Changed by the flight's thread alone, under CVP_LOCK_TUNING. */
static struct mirror mirror = {.why = "no memory to read it", .is_closed = 1};
static int has_read;
static _Atomic uint64_t read_at; /* the epoch whose settings the path follows from, plus 1 */
static double next_look;         /* in ms of the clock */
static char said[CVP_TUNE_WHY];

static const struct cvp_tune_key the_file = {"", "", ""};

/* One line for each new reason. */
static void say(const char *path, const char *why)
{
    cvp_lock(CVP_LOCK_TUNING);
    int is_new = strcmp(said, why) != 0;
    snprintf(said, sizeof said, "%s", why);
    cvp_unlock(CVP_LOCK_TUNING);
    if (is_new && why[0] && cvp_verbose(1))
        cvp_log(NULL, "cache,memory only,%s%s%s", path, path[0] ? ": " : "", why);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The records of a file in `index`. The batch is the caller's to give back; NULL: none. */
static struct cvp_tune_batch *read_records(const char *path, struct cvp_tune_index *index,
                                           struct mirror *m, struct cvp_tune_leftovers *left,
                                           convop_status *status)
{
    char *text;
    size_t length, bytes;
    struct cvp_tune_census census;
    *status = cvp_tune_file_read(path, &text, &length, &bytes, &m->stamp, m->why);
    if (*status != CONVOP_OK) {
        m->is_closed = *status != CONVOP_E_NOT_FOUND;
        if (!m->is_closed) m->why[0] = '\0';
        return NULL;
    }
    struct cvp_tune_batch *batch = cvp_tune_scan(text, length, bytes, &census);
    if (!batch) {
        *status = CONVOP_E_NO_MEMORY;
        return NULL;
    }
    m->is_closed = !cvp_tune_is_ours(text, length, &census);
    if (m->is_closed)
        snprintf(m->why, sizeof m->why, "it has %s",
                 census.format > CVP_TUNE_FORMAT ? "a newer format" : "no form of a tuning cache");
    m->lines = census.lines;
    m->wasted = census.bad + cvp_tune_index_fill(index, batch, left);
    return batch;
}

/* Under the lock: what is in no file goes over into the new index. */
static void carry_over(struct cvp_tune_index *fresh, struct cvp_tune_leftovers *left)
{
    for (struct cvp_tune_record *r = cvp_tune_user.oldest, *newer; r; r = newer) {
        newer = r->newer;
        if (!r->unsaved || r->dropped) continue;
        struct cvp_tune_batch *batch = r->batch;
        batch->refs++;
        cvp_tune_index_remove(&cvp_tune_user, r, left);
        cvp_tune_index_insert(fresh, r, left);
        cvp_tune_batch_unref(batch, left);
    }
}

static void read_system(void)
{
    struct mirror unused = {.lines = 0};
    struct cvp_tune_index index = {.limit = CVP_TUNE_MAX_RECORDS};
    struct cvp_tune_leftovers left = {NULL};
    convop_status status;
    struct cvp_tune_batch *batch =
        read_records(cvp_tune_system_path(), &index, &unused, &left, &status);
    cvp_lock(CVP_LOCK_TUNING);
    struct cvp_tune_index was = cvp_tune_system;
    cvp_tune_system = index;
    cvp_tune_index_clear(&was, &left);
    if (batch) cvp_tune_batch_unref(batch, &left);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_free(was.buckets);
    cvp_tune_free_leftovers(&left);
}

/* Makes memory mirror the file at m->path. Without memory everything stays as it was, to be tried
 * again. */
static void load(struct mirror *m, uint64_t epoch)
{
    struct cvp_tune_index fresh = {.limit = CVP_TUNE_MAX_RECORDS};
    struct cvp_tune_leftovers left = {NULL};
    struct cvp_tune_batch *batch = NULL;
    convop_status status = CONVOP_OK;
    double began = cvp_now_ms();
    cvp_tune_name_cpu();
    if (m->path[0]) batch = read_records(m->path, &fresh, m, &left, &status);
    if (status == CONVOP_E_NO_MEMORY) return;
    double now = cvp_now_ms();
    cvp_lock(CVP_LOCK_TUNING);
    carry_over(&fresh, &left);
    struct cvp_tune_index was = cvp_tune_user;
    cvp_tune_user = fresh;
    cvp_tune_index_clear(&was, &left);
    if (batch) cvp_tune_batch_unref(batch, &left);
    mirror = *m;
    has_read = 1;
    atomic_store_explicit(&read_at, epoch + 1, memory_order_release);
    double pause = (now - began) * LOOK_PER_READ;
    next_look = now + (pause > LOOK_MS ? pause : LOOK_MS);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_free(was.buckets);
    cvp_tune_free_leftovers(&left);
    if (m->path[0] && m->is_closed) say(m->path, m->why);
}

/* Reads the file if it is another one than was read, or has changed. */
static void follow(void)
{
    uint64_t epoch = cvp_epoch();
    struct mirror m = {.is_closed = 0};
    cvp_tune_place(m.path, m.why);
    m.is_closed = m.path[0] == '\0';
    if (!has_read) read_system();
    int is_other = !has_read || strcmp(m.path, mirror.path) != 0;
    if (is_other || (m.path[0] && !cvp_tune_stamp_holds(&mirror.stamp, m.path))) {
        load(&m, epoch);
        return;
    }
    cvp_lock(CVP_LOCK_TUNING);
    if (!m.path[0]) memcpy(mirror.why, m.why, sizeof m.why);
    atomic_store_explicit(&read_at, epoch + 1, memory_order_release);
    next_look = cvp_now_ms() + LOOK_MS;
    cvp_unlock(CVP_LOCK_TUNING);
}

void cvp_tune_enter(void)
{
    while (!cvp_tune_begin(&the_file, 1)) continue;
    follow();
}

void cvp_tune_leave(void)
{
    cvp_tune_end(&the_file);
}

void cvp_tune_ready(void)
{
    if (atomic_load_explicit(&read_at, memory_order_acquire) == cvp_epoch() + 1) return;
    cvp_tune_enter();
    cvp_tune_leave();
}

int cvp_tune_look_again(void)
{
    double now = cvp_now_ms();
    struct cvp_tune_stamp stamp;
    char path[CVP_TUNE_PATH];
    cvp_lock(CVP_LOCK_TUNING);
    int is_time = mirror.path[0] && now >= next_look;
    if (is_time) {
        next_look = now + LOOK_MS;
        stamp = mirror.stamp;
        strcpy(path, mirror.path);
    }
    cvp_unlock(CVP_LOCK_TUNING);
    if (!is_time || cvp_tune_stamp_holds(&stamp, path)) return 0;
    /* Whoever is at it already will have read it for all. */
    if (!cvp_tune_begin(&the_file, 1)) return 1;
    follow();
    cvp_tune_end(&the_file);
    return 1;
}

/* ---- writing -------------------------------------------------------------------------------- */

int cvp_tune_is_mirrored(const struct cvp_tune_stamp *stamp)
{
    return mirror.path[0] && mirror.stamp.device == stamp->device &&
           mirror.stamp.inode == stamp->inode;
}

int cvp_tune_save(const char *lines, size_t length)
{
    if (cvp_tune_host_keeps()) return 0;
    if (mirror.is_closed) {
        say(mirror.path, mirror.why);
        return 0;
    }
    struct cvp_tune_stamp stamp = mirror.stamp;
    char why[CVP_TUNE_WHY] = "";
    convop_status status = cvp_tune_file_append(mirror.path, lines, length, &stamp, why);
    if (status == CONVOP_OK) why[0] = '\0';
    cvp_lock(CVP_LOCK_TUNING);
    mirror.stamp = stamp;
    memcpy(mirror.why, why, sizeof why);
    cvp_unlock(CVP_LOCK_TUNING);
    say(mirror.path, why);
    return status == CONVOP_OK;
}

size_t cvp_tune_remember(struct cvp_tune_batch *batch)
{
    struct cvp_tune_leftovers left = {NULL};
    struct cvp_tune_record **buckets = NULL;
    /* Room is made with the lock free; who comes in between only makes it a little late. */
    cvp_lock(CVP_LOCK_TUNING);
    size_t want = cvp_tune_index_wants(&cvp_tune_user, cvp_tune_user.count + batch->count);
    cvp_unlock(CVP_LOCK_TUNING);
    if (want) buckets = cvp_calloc(want, sizeof(void *));
    cvp_lock(CVP_LOCK_TUNING);
    buckets = cvp_tune_index_grow(&cvp_tune_user, buckets, want);
    size_t superseded = cvp_tune_index_add(&cvp_tune_user, batch, &left);
    cvp_unlock(CVP_LOCK_TUNING);
    cvp_free(buckets);
    cvp_tune_free_leftovers(&left);
    return superseded;
}

void cvp_tune_appended(size_t count, size_t superseded)
{
    cvp_lock(CVP_LOCK_TUNING);
    mirror.lines += count;
    mirror.wasted += superseded;
    cvp_unlock(CVP_LOCK_TUNING);
    if (mirror.lines < COMPACT_LINES || mirror.wasted * 2 <= mirror.lines) return;
    char why[CVP_TUNE_WHY] = "";
    (void)cvp_tune_compact(mirror.path, NULL, why);
    cvp_lock(CVP_LOCK_TUNING);
    mirror.wasted = 0; /* not at once again, whatever came of it */
    cvp_unlock(CVP_LOCK_TUNING);
    follow();
}

convop_status cvp_tune_forget_in_file(const char *caller, const struct cvp_tune_filter *filter)
{
    char why[CVP_TUNE_WHY] = "";
    if (!mirror.path[0]) return CONVOP_OK;
    if (mirror.is_closed)
        return convop_fail(CONVOP_E_IO, "%s: %s: %s", caller, mirror.path, mirror.why);
    convop_status status = cvp_tune_compact(mirror.path, filter, why);
    if (status != CONVOP_OK) return convop_fail(status, "%s: %s: %s", caller, mirror.path, why);
    follow();
    return CONVOP_OK;
}

void cvp_tune_where(char path[CVP_TUNE_PATH], char why[CVP_TUNE_WHY])
{
    cvp_tune_ready();
    cvp_lock(CVP_LOCK_TUNING);
    strcpy(path, mirror.path);
    strcpy(why, mirror.why);
    cvp_unlock(CVP_LOCK_TUNING);
    if (path[0] && !why[0]) (void)cvp_tune_can_write(path, why);
}
