/* Reading records with pread. */
#include "io/record_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convop/registry.h"
#include "src/common/size.h"

struct cvp_io_record_reader {
    int fd;
    uint64_t size;
    char *path;
};

convop_status cvp_io_record_open(const char *path, struct cvp_io_record_reader **reader)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0) {
        convop_status status =
            convop_fail(CONVOP_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    if (!S_ISREG(s.st_mode)) {
        close(fd);
        return convop_fail(CONVOP_E_INVALID, "%s: is no regular file", path);
    }
    struct cvp_io_record_reader *r = malloc(sizeof *r);
    char *copy = strdup(path);
    if (!r || !copy) {
        close(fd);
        free(r);
        free(copy);
        return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to read it", path);
    }
    *r = (struct cvp_io_record_reader){fd, (uint64_t)s.st_size, copy};
    *reader = r;
    return CONVOP_OK;
}

void cvp_io_record_close(struct cvp_io_record_reader **reader)
{
    if (!*reader) return;
    close((*reader)->fd);
    free((*reader)->path);
    free(*reader);
    *reader = NULL;
}

const char *cvp_io_record_path(const struct cvp_io_record_reader *reader)
{
    return reader->path;
}

uint64_t cvp_io_record_file_size(const struct cvp_io_record_reader *reader)
{
    return reader->size;
}

int cvp_io_record_at_end(const struct cvp_io_record_reader *reader,
                         const struct cvp_io_record_cursor *cursor)
{
    return cursor->offset >= reader->size;
}

convop_status cvp_io_record_blame(const struct cvp_io_record_reader *reader,
                                  const struct cvp_io_record_cursor *cursor, convop_status status)
{
    char text[768];
    snprintf(text, sizeof text, "%s", convop_last_error());
    return convop_fail(status, "%s: record %lld at offset %llu: %s", reader->path,
                       (long long)cursor->number, (unsigned long long)cursor->offset, text);
}

__attribute__((format(printf, 3, 4))) static convop_status
damaged(const struct cvp_io_record_reader *r, const struct cvp_io_record_cursor *cursor,
        const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return convop_fail(CONVOP_E_INVALID, "%s: record %lld at offset %llu: %s", r->path,
                       (long long)cursor->number, (unsigned long long)cursor->offset, text);
}

/* Exactly `bytes` from `offset`, which lie inside the file as it was when it was opened. */
static convop_status read_bytes(const struct cvp_io_record_reader *r,
                                const struct cvp_io_record_cursor *cursor, uint64_t offset,
                                unsigned char *to, size_t bytes)
{
    while (bytes) {
        ssize_t n = pread(r->fd, to, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            convop_fail(CONVOP_E_IO, "cannot be read: %s", strerror(errno));
            return cvp_io_record_blame(r, cursor, CONVOP_E_IO);
        }
        if (n == 0)
            return damaged(r, cursor, "truncated: the file became shorter while it was read");
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return CONVOP_OK;
}

struct part {
    unsigned flag;
    uint32_t length;
};

/* Reads and checks the header at `at`; `index` counts the parts of the record from 0. */
static convop_status read_header(const struct cvp_io_record_reader *r,
                                 const struct cvp_io_record_cursor *c, uint64_t at, int64_t index,
                                 struct part *part)
{
    unsigned char head[CVP_IO_RECORD_HEADER];
    const unsigned long long where = at, size = r->size;
    if (at >= r->size && index == 0)
        return damaged(r, c, "the offset is not before the end of the file (%llu bytes)", size);
    if (at >= r->size)
        return damaged(r, c, "truncated: the file ends after %lld of its parts", (long long)index);
    if (r->size - at < sizeof head)
        return damaged(r, c, "truncated: %llu of 8 header bytes at offset %llu", size - where,
                       where);
    convop_status status = read_bytes(r, c, at, head, sizeof head);
    if (status != CONVOP_OK) return status;
    if (cvp_io_get_u32(head) != CVP_IO_RECORD_MAGIC)
        return damaged(r, c, "no magic word at offset %llu: 0x%08x, not 0x%08x", where,
                       (unsigned)cvp_io_get_u32(head), (unsigned)CVP_IO_RECORD_MAGIC);
    part->flag = cvp_io_get_u32(head + 4) >> 29;
    part->length = cvp_io_get_u32(head + 4) & (uint32_t)(CVP_IO_RECORD_LIMIT - 1);
    if (part->flag > 3)
        return damaged(r, c, "flag %u at offset %llu; 3 is the largest", part->flag, where);
    if (index == 0 && part->flag > 1)
        return damaged(r, c, "begins with a part of flag %u: its first part is missing",
                       part->flag);
    if (index > 0 && part->flag < 2)
        return damaged(r, c, "flag %u at offset %llu, where a further part was due", part->flag,
                       where);
    if (part->length > r->size - at - sizeof head)
        return damaged(r, c, "truncated: %llu of %u payload bytes at offset %llu",
                       size - where - sizeof head, (unsigned)part->length, where);
    return CONVOP_OK;
}

/* Appends a part, the magic word before it if it is not the first. */
static convop_status append(const struct cvp_io_record_reader *r,
                            const struct cvp_io_record_cursor *c, uint64_t at, int64_t index,
                            uint32_t length, struct cvp_io_record *record)
{
    size_t need = record->size + (index ? 4 : 0), all = 0;
    convop_status status = CONVOP_OK;
    if (!cvp_add_size(need, length, &all))
        status = convop_fail(CONVOP_E_NO_MEMORY, "its size overflows");
    if (status == CONVOP_OK) status = cvp_io_record_reserve(record, all);
    if (status != CONVOP_OK) return cvp_io_record_blame(r, c, status);
    if (all == 0) return CONVOP_OK; /* there may be no buffer yet */
    if (index) cvp_io_put_u32(record->data + record->size, CVP_IO_RECORD_MAGIC);
    record->size = all;
    return read_bytes(r, c, at, record->data + need, length);
}

convop_status cvp_io_record_read(const struct cvp_io_record_reader *reader,
                                 struct cvp_io_record_cursor *cursor, struct cvp_io_record *record)
{
    uint64_t at = cursor->offset;
    struct part part = {0, 0};
    if (record) record->size = 0;
    for (int64_t index = 0;; index++) {
        convop_status status = read_header(reader, cursor, at, index, &part);
        if (status == CONVOP_OK && record)
            status = append(reader, cursor, at + CVP_IO_RECORD_HEADER, index, part.length, record);
        if (status != CONVOP_OK) return status;
        at += CVP_IO_RECORD_HEADER + (((uint64_t)part.length + 3) & ~(uint64_t)3);
        if (part.flag == 0 || part.flag == 3) break;
    }
    cursor->offset = at < reader->size ? at : reader->size;
    cursor->number++;
    return CONVOP_OK;
}
