/* Lines and fields. */
#include "io/text_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"

/* Reads to the end, so that pipes work as well. */
static int read_all(FILE *file, struct cvp_io_text *text)
{
    size_t capacity = 0;
    for (;;) {
        if (capacity - text->size < 2) {
            size_t larger = capacity ? 2 * capacity : (size_t)1 << 16;
            char *data = larger > capacity ? realloc(text->data, larger) : NULL;
            if (!data) {
                errno = ENOMEM;
                return 0;
            }
            text->data = data;
            capacity = larger;
        }
        size_t n = fread(text->data + text->size, 1, capacity - text->size - 1, file);
        if (n == 0) break;
        text->size += n;
    }
    text->data[text->size] = 0;
    return !ferror(file);
}

convop_status cvp_io_text_load(const char *path, struct cvp_io_text *text)
{
    *text = (struct cvp_io_text){0};
    text->path = strdup(path);
    FILE *file = text->path ? fopen(path, "re") : NULL;
    int read = file && read_all(file, text);
    int error = errno;
    if (file) fclose(file);
    if (read) return CONVOP_OK;
    cvp_io_text_free(text);
    return convop_fail(error == ENOMEM ? CONVOP_E_NO_MEMORY : CONVOP_E_IO, "%s: cannot be read: %s",
                       path, strerror(error));
}

void cvp_io_text_free(struct cvp_io_text *text)
{
    free(text->path);
    free(text->data);
    *text = (struct cvp_io_text){0};
}

char *cvp_io_text_next(struct cvp_io_text *text)
{
    while (text->at < text->size) {
        char *line = text->data + text->at;
        char *end = memchr(line, '\n', text->size - text->at);
        if (!end) end = text->data + text->size;
        text->at = (size_t)(end - text->data) + 1;
        text->line++;
        *end = 0;
        /* A 0 inside hides what is behind it; as a character it makes the field wrong instead. */
        for (char *c = line; c < end; c++)
            if (*c == 0) *c = '?';
        if (end > line && end[-1] == '\r') end[-1] = 0;
        if (line[strspn(line, " \t")]) return line;
    }
    return NULL;
}

char *cvp_io_text_field(char **rest)
{
    char *field = *rest;
    if (!field) return NULL;
    char *end = field + strcspn(field, "\t");
    *rest = *end ? end + 1 : NULL;
    while (end > field && end[-1] == ' ') end--;
    *end = 0;
    return field + strspn(field, " ");
}

int cvp_io_text_u64(const char *text, uint64_t most, uint64_t *value)
{
    uint64_t v = 0;
    if (!*text) return 0;
    for (; *text; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || v > (most - digit) / 10) return 0;
        v = 10 * v + digit;
    }
    *value = v;
    return 1;
}

convop_status cvp_io_text_fail(const struct cvp_io_text *text, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return convop_fail(CONVOP_E_INVALID, "%s: line %zu: %s", text->path, text->line, what);
}
