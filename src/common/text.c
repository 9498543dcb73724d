/* Bounded appending and nearest names, for error texts. */
#include "src/common/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer names are compared with nothing: rows of the distance table have a fixed size. */
#define MAX_NAME 63

struct cvp_text cvp_text_in(char *buffer, size_t size)
{
    if (size > 0) buffer[0] = '\0';
    return (struct cvp_text){buffer, size, 0};
}

void cvp_text_add(struct cvp_text *text, const char *format, ...)
{
    size_t left = text->need < text->size ? text->size - text->need : 0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(left > 0 ? text->at + text->need : NULL, left, format, args);
    va_end(args);
    if (length > 0) text->need += (size_t)length;
}

/* Letter by letter: these are of a few letters, and made in a process's first calls, which find
 * nothing of what copies and measures long texts in a cache. */
void cvp_text_put(struct cvp_text *text, const char *what)
{
    char *at = text->at;
    const size_t last = text->size > 0 ? text->size - 1 : 0;
    size_t need = text->need;
    for (; *what != '\0'; what++, need++)
        if (need < last) at[need] = *what;
    if (text->size > 0) at[need < last ? need : last] = '\0';
    text->need = need;
}

void cvp_text_put_number(struct cvp_text *text, const char *name, int64_t value)
{
    char digits[21];
    char *at = digits + sizeof(digits) - 1;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    *at = '\0';
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) *--at = '-';
    cvp_text_put(text, name);
    cvp_text_put(text, at);
}

void cvp_text_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = ' ';
}

void cvp_text_add_dims(struct cvp_text *text, int ndim, const int64_t *dim)
{
    cvp_text_add(text, "(");
    for (int i = 0; i < ndim; i++) {
        if (i > 0) cvp_text_add(text, ", ");
        if (dim[i] == -1) {
            cvp_text_add(text, "?");
        } else {
            cvp_text_add(text, "%" PRId64, dim[i]);
        }
    }
    cvp_text_add(text, ")");
}

/* ASCII only: names are identifiers, and the locale must not count. */
static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

/* Optimal string alignment: insertions, deletions, changes and swaps of neighbours, ignoring case.
 * Both lengths are at most MAX_NAME. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][MAX_NAME + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++) last[j] = before[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            int ca = lower(a[i - 1]), cb = lower(b[j - 1]);
            size_t best = last[j - 1] + (ca != cb);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && ca == lower(b[j - 2]) && cb == lower(a[i - 2]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[nb];
}

const char *cvp_nearest(const char *name, const char *const *names, size_t n)
{
    size_t length = strnlen(name, MAX_NAME + 1);
    if (length > MAX_NAME) return NULL;
    /* Near means that two of three letters are right. */
    size_t limit = length < 3 ? 1 : length / 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strnlen(names[i], MAX_NAME + 1);
        if (other > MAX_NAME) continue;
        size_t d = distance(name, length, names[i], other);
        if (d > limit || d >= (length > other ? length : other)) continue;
        if (d == 0) return names[i];
        nearest = names[i];
        limit = d - 1;
    }
    return nearest;
}
