/* Status names, the error text of each thread, and how structs of callers are read. */
#include "src/common/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A caller's struct_size above this is not a later version of a struct but a forgotten INIT macro;
 * reading that far would leave the caller's memory. */
#define MAX_STRUCT_SIZE 4096

static _Thread_local char error_text[1024];

const char *convop_status_name(convop_status status)
{
    /* A switch, so that two statuses of one number do not compile. */
    switch ((int)status) {
#define STATUS_CASE(name, number, text)                                                            \
    case number: return text;
        CONVOP_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    default: return "unknown status";
    }
}

const char *convop_last_error(void)
{
    return error_text;
}

convop_status convop_fail(convop_status status, const char *format, ...)
{
    /* Not straight into error_text: an argument may be the text that is there. */
    char text[sizeof(error_text)];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0) text[0] = '\0';
    memcpy(error_text, text, strlen(text) + 1);
    return status;
}

convop_status cvp_read_other_struct(void *to, size_t size, const void *from, const char *what)
{
    if (from == NULL) return convop_fail(CONVOP_E_INVALID, "%s is NULL", what);
    size_t given;
    memcpy(&given, from, sizeof(given));
    if (given < sizeof(given) || given > MAX_STRUCT_SIZE) {
        return convop_fail(CONVOP_E_INVALID,
                           "%s: struct_size is %zu, want %zu; set it with the INIT macro", what,
                           given, size);
    }
    const unsigned char *bytes = from;
    for (size_t i = size; i < given; i++) {
        if (bytes[i] != 0) {
            return convop_fail(CONVOP_E_INVALID,
                               "%s: byte %zu of %zu is set, this version knows the first %zu", what,
                               i, given, size);
        }
    }
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof(size));
    return CONVOP_OK;
}
