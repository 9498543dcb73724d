/* Writes RecordIO files, and their index files if wanted. Both appear when they are committed. */
#ifndef CVP_IO_RECORD_WRITER_H
#define CVP_IO_RECORD_WRITER_H

#include "io/record.h"

struct cvp_io_record_writer;

/* index_path NULL: no index. Not for use by two threads at once. */
convop_status cvp_io_record_create(const char *path, const char *index_path,
                                   struct cvp_io_record_writer **writer);

/* INVALID for 2^29 bytes and more, before anything is read or written: the writer is as it was.
 * `key` goes to the index. After IO every further call but discard fails. */
convop_status cvp_io_record_write(struct cvp_io_record_writer *writer, uint64_t key,
                                  const void *data, size_t bytes);

uint64_t cvp_io_record_written(const struct cvp_io_record_writer *writer); /* bytes */

/* Syncs both files, gives them their names, frees; *writer is NULL afterwards. On failure the old
 * files are still there. */
convop_status cvp_io_record_commit(struct cvp_io_record_writer **writer);

/* Leaves what was there and frees. Accepts NULL. */
void cvp_io_record_discard(struct cvp_io_record_writer **writer);

#endif
