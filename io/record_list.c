/* Listing the records of a file. */
#include "io/record_list.h"

#include <stdlib.h>

#include "convop/registry.h"
#include "io/record_index.h"

static convop_status no_memory(const struct cvp_io_record_reader *reader)
{
    return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for the list of its records",
                       cvp_io_record_path(reader));
}

static convop_status from_index(const struct cvp_io_record_reader *reader, const char *path,
                                struct cvp_io_record_list *list)
{
    struct cvp_io_record_index index;
    convop_status status = cvp_io_index_load(path, &index);
    if (status != CONVOP_OK) return status;
    list->at = malloc((index.count + 1) * sizeof list->at[0]);
    if (list->at) {
        list->count = (int64_t)index.count;
        for (int64_t i = 0; i < list->count; i++)
            list->at[i] = (struct cvp_io_record_cursor){index.entries[i].offset, i};
    } else {
        status = no_memory(reader);
    }
    cvp_io_index_free(&index);
    return status;
}

static convop_status from_file(const struct cvp_io_record_reader *reader,
                               struct cvp_io_record_list *list)
{
    struct cvp_io_record_cursor at = {0, 0};
    int64_t capacity = 0;
    while (!cvp_io_record_at_end(reader, &at)) {
        if (list->count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            void *more = realloc(list->at, (size_t)capacity * sizeof list->at[0]);
            if (!more) return no_memory(reader);
            list->at = more;
        }
        list->at[list->count] = at;
        convop_status status = cvp_io_record_read(reader, &at, NULL);
        if (status != CONVOP_OK) return status;
        list->count++;
    }
    return CONVOP_OK;
}

convop_status cvp_io_record_list_load(const struct cvp_io_record_reader *reader,
                                      const char *index_path, struct cvp_io_record_list *list)
{
    struct cvp_io_record_list loaded = {NULL, 0};
    convop_status status =
        index_path ? from_index(reader, index_path, &loaded) : from_file(reader, &loaded);
    if (status == CONVOP_OK)
        *list = loaded;
    else
        free(loaded.at);
    return status;
}

void cvp_io_record_list_free(struct cvp_io_record_list *list)
{
    free(list->at);
    *list = (struct cvp_io_record_list){NULL, 0};
}
