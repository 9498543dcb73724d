/* The buffer of a record. */
#include "io/record.h"

#include <stdlib.h>

#include "convop/registry.h"

convop_status cvp_io_record_reserve(struct cvp_io_record *record, size_t bytes)
{
    if (bytes <= record->capacity) return CONVOP_OK;
    size_t capacity = record->capacity < SIZE_MAX / 2 ? 2 * record->capacity : bytes;
    if (capacity < bytes) capacity = bytes;
    unsigned char *data = realloc(record->data, capacity);
    if (!data) return convop_fail(CONVOP_E_NO_MEMORY, "no memory for a record of %zu bytes", bytes);
    record->data = data;
    record->capacity = capacity;
    return CONVOP_OK;
}

void cvp_io_record_free(struct cvp_io_record *record)
{
    free(record->data);
    *record = (struct cvp_io_record){NULL, 0, 0};
}
