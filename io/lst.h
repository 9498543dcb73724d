/* MXNet's image lists: a line "index<TAB>label[<TAB>label...]<TAB>relative path" an image, labels
 * as "%f". Numbers are read and written with a point, whatever the locale. */
#ifndef CVP_IO_LST_H
#define CVP_IO_LST_H

#include "io/text_file.h"

struct cvp_io_lst_entry {
    uint64_t index;
    const char *path;
    const double *labels;
    size_t num_labels; /* >= 1 */
    size_t line;       /* where it was read, from 1 */
};

struct cvp_io_lst {
    size_t count;
    struct cvp_io_lst_entry *entries;
    struct cvp_io_text text; /* the paths */
    double *labels;
};

/* INVALID with the line's number for fewer than three fields and for what is no number. */
convop_status cvp_io_lst_load(const char *path, struct cvp_io_lst *list);
void cvp_io_lst_free(struct cvp_io_lst *list);

/* INVALID for a path with a tab or a line break in it, which no list can hold. */
convop_status cvp_io_lst_write(const char *path, const struct cvp_io_lst_entry *entries,
                               size_t count);

#endif
