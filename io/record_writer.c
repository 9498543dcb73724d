/* Cuts payloads at aligned magic words and writes the parts. */
#include "io/record_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "convop/registry.h"
#include "io/output.h"

struct cvp_io_record_writer {
    struct cvp_io_output *records, *index; /* index NULL: none */
};

convop_status cvp_io_record_create(const char *path, const char *index_path,
                                   struct cvp_io_record_writer **writer)
{
    struct cvp_io_record_writer *w = calloc(1, sizeof *w);
    if (!w) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to write it", path);
    convop_status status = cvp_io_output_create(path, &w->records);
    if (status == CONVOP_OK && index_path) status = cvp_io_output_create(index_path, &w->index);
    if (status == CONVOP_OK)
        *writer = w;
    else
        cvp_io_record_discard(&w);
    return status;
}

static convop_status write_part(struct cvp_io_output *o, unsigned flag, const unsigned char *data,
                                size_t bytes)
{
    static const unsigned char zeros[4];
    unsigned char head[CVP_IO_RECORD_HEADER];
    cvp_io_put_u32(head, CVP_IO_RECORD_MAGIC);
    cvp_io_put_u32(head + 4, (uint32_t)flag << 29 | (uint32_t)bytes);
    convop_status status = cvp_io_output_write(o, head, sizeof head);
    if (status == CONVOP_OK) status = cvp_io_output_write(o, data, bytes);
    if (status == CONVOP_OK) status = cvp_io_output_write(o, zeros, -bytes & 3);
    return status;
}

static convop_status write_key(struct cvp_io_output *o, uint64_t key, uint64_t offset)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%" PRIu64 "\t%" PRIu64 "\n", key, offset);
    return cvp_io_output_write(o, line, (size_t)n);
}

convop_status cvp_io_record_write(struct cvp_io_record_writer *writer, uint64_t key,
                                  const void *data, size_t bytes)
{
    if (bytes >= CVP_IO_RECORD_LIMIT)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: record of key %" PRIu64 ": its length is %zu bytes, the limit is "
                           "2^29 - 1",
                           cvp_io_output_path(writer->records), key, bytes);
    const unsigned char *p = data;
    const uint64_t offset = cvp_io_output_bytes(writer->records);
    convop_status status = CONVOP_OK;
    size_t begin = 0;
    for (size_t i = 0; i + 4 <= bytes && status == CONVOP_OK; i += 4) {
        if (cvp_io_get_u32(p + i) != CVP_IO_RECORD_MAGIC) continue;
        status = write_part(writer->records, begin ? 2 : 1, p + begin, i - begin);
        begin = i + 4;
    }
    if (status == CONVOP_OK)
        status =
            write_part(writer->records, begin ? 3 : 0, bytes ? p + begin : NULL, bytes - begin);
    if (status == CONVOP_OK && writer->index) status = write_key(writer->index, key, offset);
    return status;
}

uint64_t cvp_io_record_written(const struct cvp_io_record_writer *writer)
{
    return cvp_io_output_bytes(writer->records);
}

convop_status cvp_io_record_commit(struct cvp_io_record_writer **writer)
{
    struct cvp_io_record_writer *w = *writer;
    /* With both on the disk only the two renames can still come apart. */
    convop_status status = cvp_io_output_sync(w->records);
    if (status == CONVOP_OK && w->index) status = cvp_io_output_sync(w->index);
    if (status == CONVOP_OK) status = cvp_io_output_commit(&w->records);
    if (status == CONVOP_OK && w->index) status = cvp_io_output_commit(&w->index);
    cvp_io_record_discard(writer);
    return status;
}

void cvp_io_record_discard(struct cvp_io_record_writer **writer)
{
    if (!*writer) return;
    cvp_io_output_discard(&(*writer)->records);
    cvp_io_output_discard(&(*writer)->index);
    free(*writer);
    *writer = NULL;
}
