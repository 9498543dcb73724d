/* Writing under a temporary name. */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convop/registry.h"

struct cvp_io_output {
    FILE *file;
    char *path;
    char *temporary; /* NULL: written in place */
    uint64_t bytes;
    int error; /* errno of the first failure */
};

static convop_status fail(const struct cvp_io_output *o)
{
    return convop_fail(CONVOP_E_IO, "%s: cannot be written at offset %llu: %s", o->path,
                       (unsigned long long)o->bytes, strerror(o->error));
}

static void free_output(struct cvp_io_output **output)
{
    struct cvp_io_output *o = *output;
    *output = NULL;
    free(o->path);
    free(o->temporary);
    free(o);
}

/* The name behind links; the name itself where there is no such file yet. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static int open_temporary(struct cvp_io_output *o, mode_t mode)
{
    static atomic_uint count;
    size_t size = strlen(o->path) + 48;
    o->temporary = malloc(size);
    if (!o->temporary) return -1;
    for (int tries = 0; tries < 100; tries++) {
        snprintf(o->temporary, size, "%s.%ld.%u.tmp", o->path, (long)getpid(),
                 atomic_fetch_add(&count, 1));
        int fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static int open_output(struct cvp_io_output *o)
{
    struct stat s;
    int there = stat(o->path, &s) == 0;
    if (there && S_ISDIR(s.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (there && !S_ISREG(s.st_mode)) return open(o->path, O_WRONLY | O_CLOEXEC);
    /* A file that may not be written is not to be replaced either. */
    if (there && access(o->path, W_OK) != 0) return -1;
    int fd = open_temporary(o, 0666);
    if (fd >= 0 && there && fchmod(fd, s.st_mode & 0777) != 0) {
        close(fd);
        unlink(o->temporary);
        return -1;
    }
    return fd;
}

convop_status cvp_io_output_create(const char *path, struct cvp_io_output **out)
{
    struct cvp_io_output *o = calloc(1, sizeof *o);
    if (o) o->path = resolve(path);
    if (!o || !o->path) {
        free(o);
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to write it", path);
    }
    int fd = open_output(o);
    if (fd >= 0 && !(o->file = fdopen(fd, "w"))) {
        close(fd);
        if (o->temporary) unlink(o->temporary);
    }
    if (!o->file) {
        convop_status status =
            convop_fail(CONVOP_E_IO, "%s: cannot be created: %s", path, strerror(errno));
        free_output(&o);
        return status;
    }
    *out = o;
    return CONVOP_OK;
}

convop_status cvp_io_output_write(struct cvp_io_output *output, const void *data, size_t bytes)
{
    if (output->error) return fail(output);
    errno = 0;
    if (bytes && fwrite(data, 1, bytes, output->file) != bytes) {
        output->error = errno ? errno : EIO;
        return fail(output);
    }
    output->bytes += bytes;
    return CONVOP_OK;
}

uint64_t cvp_io_output_bytes(const struct cvp_io_output *output)
{
    return output->bytes;
}

const char *cvp_io_output_path(const struct cvp_io_output *output)
{
    return output->path;
}

convop_status cvp_io_output_sync(struct cvp_io_output *output)
{
    if (output->error) return fail(output);
    errno = 0;
    int failed = fflush(output->file) != 0;
    /* What is no file on a disk cannot be synced and says EINVAL. */
    if (!failed && fsync(fileno(output->file)) != 0)
        failed = errno != EINVAL && errno != ENOTSUP && errno != EROFS;
    if (failed) output->error = errno ? errno : EIO;
    return failed ? fail(output) : CONVOP_OK;
}

/* So that the new name survives a loss of power. A file system that cannot do it is no error. */
static void sync_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

convop_status cvp_io_output_commit(struct cvp_io_output **output)
{
    struct cvp_io_output *o = *output;
    convop_status status = cvp_io_output_sync(o);
    errno = 0;
    int closed = fclose(o->file);
    o->file = NULL;
    if (status == CONVOP_OK &&
        (closed != 0 || (o->temporary && rename(o->temporary, o->path) != 0))) {
        o->error = errno ? errno : EIO;
        status = fail(o);
    }
    if (status == CONVOP_OK)
        sync_folder(o->path);
    else if (o->temporary)
        unlink(o->temporary);
    free_output(output);
    return status;
}

void cvp_io_output_discard(struct cvp_io_output **output)
{
    if (!*output) return;
    fclose((*output)->file);
    if ((*output)->temporary) unlink((*output)->temporary);
    free_output(output);
}
