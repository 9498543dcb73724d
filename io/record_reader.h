/* Reads RecordIO files. A reader has no position: any number of threads and forked children may
 * read through one at the same time, each with a buffer and a cursor of its own. */
#ifndef CVP_IO_RECORD_READER_H
#define CVP_IO_RECORD_READER_H

#include "io/record.h"

struct cvp_io_record_reader;

/* The next record to read; {0} is the first. */
struct cvp_io_record_cursor {
    uint64_t offset; /* bytes */
    int64_t number;  /* counts from 0; for error texts */
};

/* IO, or INVALID if it is no regular file. Its size is taken here: what is appended later is not
 * seen. */
convop_status cvp_io_record_open(const char *path, struct cvp_io_record_reader **reader);
void cvp_io_record_close(struct cvp_io_record_reader **reader); /* accepts NULL */

const char *cvp_io_record_path(const struct cvp_io_record_reader *reader);
uint64_t cvp_io_record_file_size(const struct cvp_io_record_reader *reader); /* bytes */

/* Reads the record at cursor->offset and moves the cursor to the next. On failure (IO, INVALID,
 * NO_MEMORY) the cursor stays and the text names file, record, offset and fault. Zeros that are
 * missing behind the last record are no fault. record NULL: its bytes are not read, only its
 * headers. */
convop_status cvp_io_record_read(const struct cvp_io_record_reader *reader,
                                 struct cvp_io_record_cursor *cursor, struct cvp_io_record *record);

/* 1 if there is nothing at or behind the cursor. */
int cvp_io_record_at_end(const struct cvp_io_record_reader *reader,
                         const struct cvp_io_record_cursor *cursor);

/* Fails with `status` and the thread's text, put behind file, record number and offset. */
convop_status cvp_io_record_blame(const struct cvp_io_record_reader *reader,
                                  const struct cvp_io_record_cursor *cursor, convop_status status);

#endif
