/* Replacing a file in one step: a new one in the same folder, written, synchronised, renamed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/operator/tuning/file.h"

static int write_all(int fd, const char *text, size_t length)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        length > limit.rlim_cur)
        return EFBIG; /* the write would end the process by SIGXFSZ */
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, text + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* Nobody else may have the name: under the file's lock what stands there was left by one that was
 * killed. */
static int create(const char *path, mode_t mode)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags, mode);
    if (fd >= 0 || errno != EEXIST || unlink(path) != 0) return fd;
    return open(path, flags, mode);
}

convop_status cvp_tune_file_replace(const char *path, const char *text, size_t length,
                                    const struct cvp_tune_stamp *expected, char why[CVP_TUNE_WHY])
{
    char real[PATH_MAX], fresh[PATH_MAX + 8];
    struct stat old;
    int exists = stat(path, &old) == 0, has_changed = 0, error = 0;
    if (exists && !S_ISREG(old.st_mode)) {
        snprintf(why, CVP_TUNE_WHY, "it is no regular file");
        return CONVOP_E_IO;
    }
    /* A link stays a link: what it leads to is replaced. */
    if (!realpath(path, real)) {
        if (errno != ENOENT || strlen(path) >= sizeof real)
            error = ENAMETOOLONG;
        else
            strcpy(real, path);
    }
    snprintf(fresh, sizeof fresh, "%s.new", real);
    int fd = error ? -1 : create(fresh, exists ? 0600 : 0666);
    if (!error && fd < 0) error = errno;
    if (fd >= 0) {
        error = write_all(fd, text, length);
        if (exists) {
            (void)!fchown(fd, old.st_uid, old.st_gid);
            (void)fchmod(fd, old.st_mode & 0777);
        }
        if (close(fd) != 0 && !error) error = errno;
        has_changed = expected && !cvp_tune_stamp_holds(expected, real);
        if (has_changed && !error) error = EAGAIN;
        if (!error && rename(fresh, real) != 0) error = errno;
        if (error) unlink(fresh);
    }
    if (!error) return CONVOP_OK;
    snprintf(why, CVP_TUNE_WHY, "cannot be replaced: %s", strerror(error));
    return has_changed ? CONVOP_E_STATE : CONVOP_E_IO;
}
