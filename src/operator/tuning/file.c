/* Reading and appending. See file.h.
 *
 * Whoever opens a file takes what is there for hostile: O_NONBLOCK, so that a FIFO does not hang,
 * and no file but a regular one is used. Files are read, not mapped: one that shrinks would end the
 * process with SIGBUS. */
#include "src/operator/tuning/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/common/clock.h"
#include "src/operator/tuning/record.h"

/* Short, for one that writes often leaves it free for moments. */
#define LOCK_PAUSE_NS 300000

static convop_status fail(char *why, const char *what, int error)
{
    snprintf(why, CVP_TUNE_WHY, "%s: %s", what, strerror(error));
    return error == ENOENT ? CONVOP_E_NOT_FOUND : CONVOP_E_IO;
}

static struct cvp_tune_stamp stamp_of(const struct stat *s)
{
    return (struct cvp_tune_stamp){s->st_dev, s->st_ino, s->st_size, s->st_mtim};
}

static int is_same_file(const struct cvp_tune_stamp *a, const struct cvp_tune_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

int cvp_tune_stamp_holds(const struct cvp_tune_stamp *stamp, const char *path)
{
    struct stat s;
    struct cvp_tune_stamp now = {.size = 0};
    if (stat(path, &s) == 0) now = stamp_of(&s);
    return is_same_file(stamp, &now);
}

/* Opens a regular file of bearable size. */
static convop_status open_regular(const char *path, int flags, int *fd, struct stat *s, char *why)
{
    *fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (*fd < 0) return fail(why, "cannot be opened", errno);
    const char *refused = NULL;
    if (fstat(*fd, s) != 0)
        refused = strerror(errno);
    else if (!S_ISREG(s->st_mode))
        refused = "it is no regular file";
    else if (s->st_size > CVP_TUNE_MAX_FILE)
        refused = "it is larger than 1 GiB";
    if (!refused) return CONVOP_OK;
    snprintf(why, CVP_TUNE_WHY, "%s", refused);
    close(*fd);
    return CONVOP_E_IO;
}

convop_status cvp_tune_file_read(const char *path, char **text, size_t *length, size_t *bytes,
                                 struct cvp_tune_stamp *stamp, char why[CVP_TUNE_WHY])
{
    int fd;
    struct stat s;
    *stamp = (struct cvp_tune_stamp){.size = 0};
    convop_status status = open_regular(path, O_RDONLY, &fd, &s, why);
    if (status != CONVOP_OK) return status;
    *stamp = stamp_of(&s);
    *bytes = (size_t)s.st_size + 1;
    *text = cvp_buffer_alloc(NULL, *bytes);
    *length = 0;
    int error = 0;
    while (*text && *length < *bytes - 1) {
        ssize_t n = read(fd, *text + *length, *bytes - 1 - *length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) error = errno;
        if (n <= 0) break;
        *length += (size_t)n;
    }
    close(fd);
    if (!*text) {
        snprintf(why, CVP_TUNE_WHY, "no memory for its %zu bytes", *bytes - 1);
        return CONVOP_E_NO_MEMORY;
    }
    (*text)[*length] = '\0';
    if (!error) return CONVOP_OK;
    cvp_buffer_free(NULL, *text, *bytes);
    return fail(why, "cannot be read", error);
}

/* ---- the lock ------------------------------------------------------------------------------- */

/* Locks of the open file, not of the process: those would be lost when anything in the process
 * closes the same file, and would not keep out a second copy of this library. */
static int lock(int fd, short type)
{
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole);
}

/* 1: it is ours. 0: locks are refused, or somebody, stopped perhaps, keeps it. One that was killed
 * keeps none. */
static int wait_for_lock(int fd)
{
    for (double end = cvp_now_ms() + CVP_TUNE_LOCK_MS; lock(fd, F_WRLCK) != 0;) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || cvp_now_ms() > end) return 0;
        nanosleep(&(struct timespec){0, LOCK_PAUSE_NS}, NULL);
    }
    return 1;
}

int cvp_tune_file_is_current(const struct cvp_tune_open *file, const char *path)
{
    struct stat ours, theirs;
    return fstat(file->fd, &ours) == 0 && stat(path, &theirs) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

convop_status cvp_tune_file_open(const char *path, int create, struct cvp_tune_open *file,
                                 char why[CVP_TUNE_WHY])
{
    /* Whoever replaced the file while we waited has the lock of the old one no more, and we would
     * write to what nobody reads. */
    for (int tries = 0; tries < 100; tries++) {
        struct stat unused;
        convop_status status =
            open_regular(path, O_RDWR | O_APPEND | (create ? O_CREAT : 0), &file->fd, &unused, why);
        if (status == CONVOP_E_NOT_FOUND && create && tries == 0) {
            cvp_tune_make_folder(path);
            continue;
        }
        if (status != CONVOP_OK) return status;
        file->is_locked = wait_for_lock(file->fd);
        if (cvp_tune_file_is_current(file, path)) return CONVOP_OK;
        cvp_tune_file_close(file);
    }
    snprintf(why, CVP_TUNE_WHY, "others keep replacing it");
    return CONVOP_E_IO;
}

void cvp_tune_file_close(struct cvp_tune_open *file)
{
    /* Not left to close(): a child that was forked meanwhile has the descriptor too. */
    if (file->is_locked) (void)lock(file->fd, F_UNLCK);
    close(file->fd);
}

/* ---- appending ------------------------------------------------------------------------------ */

/* Beyond this limit a write would end the process by SIGXFSZ. */
static int exceeds_limit(off_t size)
{
    struct rlimit limit;
    return size > CVP_TUNE_MAX_FILE ||
           (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            (rlim_t)size > limit.rlim_cur);
}

/* What comes before the lines: the header of a new file, the newline that a killed writer owes. */
static size_t prefix(int fd, off_t size, char text[CVP_TUNE_HEADER_SIZE])
{
    char last;
    if (size == 0) return cvp_tune_header(text);
    if (pread(fd, &last, 1, size - 1) == 1 && last == '\n') return 0;
    text[0] = '\n';
    return 1;
}

static convop_status append(const struct cvp_tune_open *file, const char *lines, size_t length,
                            const struct stat *before, char *why)
{
    char head[CVP_TUNE_HEADER_SIZE];
    size_t head_length = prefix(file->fd, before->st_size, head);
    ssize_t all = (ssize_t)(head_length + length), n;
    if (exceeds_limit(before->st_size + all)) return fail(why, "cannot be written to", EFBIG);
    struct iovec parts[2] = {{head, head_length}, {(void *)(uintptr_t)lines, length}};
    do n = writev(file->fd, parts, 2);
    while (n < 0 && errno == EINTR);
    if (n == all) return CONVOP_OK;
    int error = n < 0 ? errno : ENOSPC;
    struct stat after;
    if (n > 0 && file->is_locked && fstat(file->fd, &after) == 0 &&
        after.st_size == before->st_size + n)
        (void)!ftruncate(file->fd, before->st_size);
    return fail(why, "cannot be written to", error);
}

static convop_status append_once(const char *path, const char *lines, size_t length,
                                 struct cvp_tune_stamp *stamp, int *is_lost, char *why)
{
    struct cvp_tune_open file;
    struct stat before, after;
    *is_lost = 0;
    convop_status status = cvp_tune_file_open(path, 1, &file, why);
    if (status != CONVOP_OK) return status;
    if (fstat(file.fd, &before) != 0) {
        status = fail(why, "cannot be looked at", errno);
    } else {
        struct cvp_tune_stamp was = stamp_of(&before);
        int is_known = is_same_file(stamp, &was) || (before.st_size == 0 && stamp->inode == 0);
        status = append(&file, lines, length, &before, why);
        *is_lost = !file.is_locked && !cvp_tune_file_is_current(&file, path);
        if (is_known && fstat(file.fd, &after) == 0) *stamp = stamp_of(&after);
    }
    cvp_tune_file_close(&file);
    return status;
}

convop_status cvp_tune_file_append(const char *path, const char *lines, size_t length,
                                   struct cvp_tune_stamp *stamp, char why[CVP_TUNE_WHY])
{
    int is_lost = 1;
    convop_status status = CONVOP_OK;
    for (int tries = 0; is_lost && status == CONVOP_OK && tries < 10; tries++)
        status = append_once(path, lines, length, stamp, &is_lost, why);
    return status == CONVOP_OK ? CONVOP_OK : CONVOP_E_IO;
}
