/* Index files of RecordIO files: a line "key<TAB>offset" a record. */
#ifndef CVP_IO_RECORD_INDEX_H
#define CVP_IO_RECORD_INDEX_H

#include "convop/base.h"

struct cvp_io_index_entry {
    uint64_t key;
    uint64_t offset; /* bytes from the beginning of the record file */
};

struct cvp_io_record_index {
    size_t count;
    struct cvp_io_index_entry *entries; /* in the order of the file */
    size_t *by_key;                     /* numbers of entries, keys ascending */
};

/* INVALID with the line's number for what is no number, a key that was there already, an offset
 * that no file has. Blank lines count but say nothing. */
convop_status cvp_io_index_load(const char *path, struct cvp_io_record_index *index);
void cvp_io_index_free(struct cvp_io_record_index *index);

/* The number of the entry with that key; NOT_FOUND. */
convop_status cvp_io_index_find(const struct cvp_io_record_index *index, uint64_t key,
                                size_t *entry);

#endif
