/* MXNet's list of arrays: a header of three numbers, each array (magic, storage, shape, device,
 * type, data), then their names. Facts from MXNet 1.9.1's NDArray::Save. */
#include "examples/mobilenet/params_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convop/registry.h"

#define LIST_MAGIC  0x112u
#define ARRAY_MAGIC 0xF993fac9u /* shapes of 64-bit sizes, with a storage type */

static convop_status io_error(const char *path, const char *what)
{
    return convop_fail(CONVOP_E_IO, "%s: %s: %s", path, what, strerror(errno));
}

static size_t bytes_of(const DLTensor *t)
{
    size_t n = t->dtype.bits / 8;
    for (int i = 0; i < t->ndim; i++) n *= (size_t)t->shape[i];
    return n;
}

/* MXNet's numbers of dtypes. */
static int32_t type_number(const DLTensor *t)
{
    return t->dtype.bits == 64 ? 1 : 0;
}

/* ---- writing ------------------------------------------------------------------------------- */

static int put(FILE *f, const void *data, size_t bytes)
{
    return bytes == 0 || fwrite(data, 1, bytes, f) == bytes;
}

static int put_array(FILE *f, const DLTensor *t)
{
    uint32_t magic = ARRAY_MAGIC, ndim = (uint32_t)t->ndim;
    int32_t storage = 0, device[2] = {1, 0}, type = type_number(t);
    return put(f, &magic, 4) && put(f, &storage, 4) && put(f, &ndim, 4) &&
           put(f, t->shape, (size_t)t->ndim * 8) && put(f, device, 8) && put(f, &type, 4) &&
           put(f, (const char *)t->data + t->byte_offset, bytes_of(t));
}

static int put_list(FILE *f, const struct named_tensor *tensors, size_t count)
{
    uint64_t header[3] = {LIST_MAGIC, 0, count}, n = count;
    if (!put(f, header, sizeof header)) return 0;
    for (size_t i = 0; i < count; i++)
        if (!put_array(f, tensors[i].tensor)) return 0;
    if (!put(f, &n, 8)) return 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t length = strlen(tensors[i].name);
        if (!put(f, &length, 8) || !put(f, tensors[i].name, length)) return 0;
    }
    return fflush(f) == 0 && fsync(fileno(f)) == 0;
}

convop_status params_save(const char *path, const struct named_tensor *tensors, size_t count)
{
    size_t size = strlen(path) + 16;
    char *temporary = malloc(size);
    if (!temporary) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", path);
    snprintf(temporary, size, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    convop_status status = f ? CONVOP_OK : io_error(path, "cannot be written");
    if (f) {
        if (!put_list(f, tensors, count)) status = io_error(path, "cannot be written");
        if (fchmod(fd, 0644) != 0 || fclose(f) != 0 || status != CONVOP_OK) {
            if (status == CONVOP_OK) status = io_error(path, "cannot be written");
        } else if (rename(temporary, path) != 0) {
            status = io_error(path, "cannot be renamed");
        }
        if (status != CONVOP_OK) unlink(temporary);
    }
    free(temporary);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

struct reader {
    FILE *f;
    const char *path;
    long long at;
};

static convop_status get(struct reader *r, void *data, size_t bytes, const char *what)
{
    if (bytes > 0 && fread(data, 1, bytes, r->f) != bytes)
        return convop_fail(CONVOP_E_IO, "%s: truncated at offset %lld: %s is missing", r->path,
                           r->at, what);
    r->at += (long long)bytes;
    return CONVOP_OK;
}

static convop_status bad(const struct reader *r, const char *what)
{
    return convop_fail(CONVOP_E_IO, "%s: %s at offset %lld: this is no file of parameters", r->path,
                       what, r->at);
}

/* Where an array's data lies. */
struct array {
    int32_t type;
    uint32_t ndim;
    int64_t shape[CONVOP_MAX_DIMS];
    long long offset;
    char name[256];
};

#define RETURN_IF_ERROR(expr)                                                                      \
    do {                                                                                           \
        convop_status s_ = (expr);                                                                 \
        if (s_ != CONVOP_OK) return s_;                                                            \
    } while (0)

static convop_status read_array(struct reader *r, struct array *a)
{
    uint32_t magic;
    int32_t storage, device[2];
    RETURN_IF_ERROR(get(r, &magic, 4, "an array"));
    if (magic != ARRAY_MAGIC) return bad(r, "a number that begins no array");
    RETURN_IF_ERROR(get(r, &storage, 4, "a storage type"));
    if (storage != 0) return bad(r, "a sparse array");
    RETURN_IF_ERROR(get(r, &a->ndim, 4, "a rank"));
    if (a->ndim == 0 || a->ndim > CONVOP_MAX_DIMS) return bad(r, "a bad rank");
    RETURN_IF_ERROR(get(r, a->shape, a->ndim * 8, "a shape"));
    RETURN_IF_ERROR(get(r, device, 8, "a device"));
    RETURN_IF_ERROR(get(r, &a->type, 4, "a type"));
    if (a->type != 0 && a->type != 1) return bad(r, "an array that is neither float32 nor float64");
    int64_t bytes = a->type == 1 ? 8 : 4;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (a->shape[i] < 0 || __builtin_mul_overflow(bytes, a->shape[i], &bytes))
            return bad(r, "a bad shape");
    a->offset = r->at;
    if (fseeko(r->f, (off_t)bytes, SEEK_CUR) != 0) return bad(r, "a bad shape");
    r->at += bytes;
    return CONVOP_OK;
}

static convop_status read_list(struct reader *r, struct array **arrays, uint64_t *count)
{
    uint64_t header[3], names;
    RETURN_IF_ERROR(get(r, header, sizeof header, "the header"));
    if (header[0] != LIST_MAGIC || header[2] > 1u << 20) return bad(r, "a wrong header");
    *count = header[2];
    *arrays = calloc(*count + 1, sizeof **arrays);
    if (!*arrays) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory", r->path);
    for (uint64_t i = 0; i < *count; i++) RETURN_IF_ERROR(read_array(r, &(*arrays)[i]));
    RETURN_IF_ERROR(get(r, &names, 8, "the names"));
    if (names != *count) return bad(r, "a wrong number of names");
    for (uint64_t i = 0; i < *count; i++) {
        uint64_t length;
        RETURN_IF_ERROR(get(r, &length, 8, "a name"));
        if (length >= sizeof(*arrays)[i].name) return bad(r, "a name that is too long");
        RETURN_IF_ERROR(get(r, (*arrays)[i].name, length, "a name"));
    }
    return CONVOP_OK;
}

static convop_status take(struct reader *r, const struct array *a, const struct named_tensor *to)
{
    const DLTensor *t = to->tensor;
    int same = a->ndim == (uint32_t)t->ndim && a->type == type_number(t);
    for (int i = 0; same && i < t->ndim; i++) same = a->shape[i] == t->shape[i];
    if (!same)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has another shape or dtype than this network wants", r->path,
                           to->name);
    if (fseeko(r->f, (off_t)a->offset, SEEK_SET) != 0) return io_error(r->path, "cannot be read");
    r->at = a->offset;
    return get(r, (char *)t->data + t->byte_offset, bytes_of(t), to->name);
}

static convop_status take_all(struct reader *r, const struct array *arrays, uint64_t n,
                              const struct named_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t j = 0;
        while (j < n && strcmp(arrays[j].name, tensors[i].name) != 0) j++;
        if (j == n)
            return convop_fail(CONVOP_E_INVALID, "%s: there is no %s in it", r->path,
                               tensors[i].name);
        RETURN_IF_ERROR(take(r, &arrays[j], &tensors[i]));
    }
    return CONVOP_OK;
}

convop_status params_load(const char *path, const struct named_tensor *tensors, size_t count)
{
    struct reader r = {.f = fopen(path, "rb"), .path = path};
    if (!r.f) return io_error(path, "cannot be opened");
    struct array *arrays = NULL;
    uint64_t n = 0;
    convop_status status = read_list(&r, &arrays, &n);
    if (status == CONVOP_OK) status = take_all(&r, arrays, n, tensors, count);
    free(arrays);
    fclose(r.f);
    return status;
}
