/* See error.h. */
#include "src/engine/error.h"

#include <string.h>

#include "src/common/alloc.h"

/* For a task that fails when there is no memory to keep its text: one for each status. */
#define LOST_TEXT                "a task failed, and there was no memory to keep what it said"
#define LOST(name, number, text) [number] = {0, UINT64_MAX, name, LOST_TEXT ": " text},
static struct cvp_error lost[] = {CONVOP_STATUS_LIST(LOST)};
#undef LOST

struct cvp_error *cvp_error_make(convop_status status, const char *text, uint64_t order)
{
    size_t length = strlen(text) + 1;
    struct cvp_error *error = cvp_malloc(sizeof(*error) + length);
    if (error == NULL) {
        size_t index = (size_t)status;
        return &lost[index < sizeof(lost) / sizeof(lost[0]) ? index : CONVOP_E_INTERNAL];
    }
    char *copy = (char *)(error + 1);
    memcpy(copy, text, length);
    *error = (struct cvp_error){.references = 1, .order = order, .status = status, .text = copy};
    return error;
}

struct cvp_error *cvp_error_ref(struct cvp_error *error)
{
    if (error->references > 0) error->references++;
    return error;
}

void cvp_error_drop(struct cvp_error *error)
{
    if (error == NULL || error->references == 0) return;
    if (--error->references == 0) cvp_free(error);
}
