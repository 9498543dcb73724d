/* Where the records of a file begin, from its index or from the file itself. */
#ifndef CVP_IO_RECORD_LIST_H
#define CVP_IO_RECORD_LIST_H

#include "io/record_reader.h"

struct cvp_io_record_list {
    struct cvp_io_record_cursor *at;
    int64_t count;
};

/* index_path NULL: the headers are read from the beginning to the end of the file. */
convop_status cvp_io_record_list_load(const struct cvp_io_record_reader *reader,
                                      const char *index_path, struct cvp_io_record_list *list);
void cvp_io_record_list_free(struct cvp_io_record_list *list);

#endif
