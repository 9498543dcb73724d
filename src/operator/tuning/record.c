/* A record as a line, and back: docs/tuning.md has the format.
 *
 * A line is split and its checksum tested when a file is read; its numbers and its plan are only
 * looked at when the record is used. Numbers are written and read here, for printf and strtod take
 * the decimal point from the locale. */
#include "src/operator/tuning/record.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/common/alloc.h"
#include "src/common/status.h"

#define KIND          "choice\t"
#define KIND_LENGTH   (sizeof KIND - 1)
#define HEADER        "#convop-tuning\t"
#define HEADER_LENGTH (sizeof HEADER - 1)
#define HEX_DIGITS    16
#define KEY_FIELDS    3

/* Some editors begin a file with it, and cat puts it before any line. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Times are written in nanoseconds and hold less than this many milliseconds, so that all their
 * digits fit a double: a day. */
#define MAX_MS 1e8

/* ---- checksums and kinds -------------------------------------------------------------------- */

static void put_checksum(char *at, const char *text, size_t length)
{
    uint64_t sum = XXH3_64bits(text, length);
    for (int i = 0; i < HEX_DIGITS; i++) at[i] = "0123456789abcdef"[sum >> (60 - 4 * i) & 15];
}

/* 1 if the line ends with a tab and the checksum of all before it. */
static int is_sound(const char *line, size_t length)
{
    char sum[HEX_DIGITS];
    if (length <= HEX_DIGITS + 1 || length > CVP_TUNE_MAX_LINE) return 0;
    size_t body = length - HEX_DIGITS - 1;
    if (line[body] != '\t') return 0;
    put_checksum(sum, line, body);
    return memcmp(sum, line + body + 1, HEX_DIGITS) == 0;
}

/* The field that begins at *at and ends before a tab; moves *at behind the tab. 0: there is none.
 */
static int take(const char **at, const char *end, struct cvp_tune_span *field)
{
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    if (!tab) return 0;
    *field = (struct cvp_tune_span){*at, (size_t)(tab - *at)};
    *at = tab + 1;
    return 1;
}

/* The value of the digits from *at on, which moves behind them. Something else follows: every line
 * that is sound ends with a tab and its checksum. */
static uint64_t read_digits(const char **at, uint64_t value)
{
    const char *c = *at;
    for (unsigned digit; (digit = (unsigned)(*c - '0')) <= 9; c++) value = 10 * value + digit;
    *at = c;
    return value;
}

/* A field of digits alone, at most 18 of them; moves *at behind its tab. */
static int take_number(const char **at, const char *end, int64_t *value)
{
    const char *begin = *at, *tab = begin;
    if (begin >= end) return 0;
    *value = (int64_t)read_digits(&tab, 0);
    *at = tab + 1;
    return tab > begin && tab - begin <= 18 && *tab == '\t';
}

/* But for tabs, which end fields. Without an early exit, so that compilers use vectors: this runs
 * over every key of a file. */
static int has_control(const char *text, size_t length)
{
    unsigned found = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        found |= (unsigned)(c < 0x20 && c != '\t') | (unsigned)(c == 0x7f);
    }
    return found != 0;
}

enum cvp_tune_line cvp_tune_line_kind(const char *line, size_t length, int *format)
{
    if (length == 0) return CVP_TUNE_COMMENT;
    if (line[0] == '#') {
        int64_t value;
        const char *at = line + HEADER_LENGTH;
        if (length < HEADER_LENGTH || memcmp(line, HEADER, HEADER_LENGTH) != 0 ||
            !is_sound(line, length) || !take_number(&at, line + length, &value) || value < 1)
            return CVP_TUNE_COMMENT;
        *format = value < INT_MAX ? (int)value : INT_MAX;
        return CVP_TUNE_HEADER;
    }
    if (!is_sound(line, length)) return CVP_TUNE_BAD;
    if (length < KIND_LENGTH || memcmp(line, KIND, KIND_LENGTH) != 0) return CVP_TUNE_OTHER;
    const char *at = line + KIND_LENGTH;
    struct cvp_tune_span field;
    for (int i = 0; i < KEY_FIELDS; i++)
        if (!take(&at, line + length, &field) || field.length == 0) return CVP_TUNE_OTHER;
    return has_control(line, (size_t)(at - line)) ? CVP_TUNE_OTHER : CVP_TUNE_CHOICE;
}

size_t cvp_tune_header(char *text)
{
    int n = snprintf(text, CVP_TUNE_HEADER_SIZE, HEADER "%d", CVP_TUNE_FORMAT);
    put_checksum(text + n + 1, text, (size_t)n);
    text[n] = '\t';
    text[n + 1 + HEX_DIGITS] = '\n';
    return (size_t)n + 1 + HEX_DIGITS + 1;
}

int cvp_tune_next_line(const char **at, const char *end, struct cvp_tune_span *line)
{
    if (*at == end) return 0;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *stop = newline ? newline : end;
    *line = (struct cvp_tune_span){*at, (size_t)(stop - *at)};
    if (line->length > 0 && stop[-1] == '\r') line->length--;
    if (line->length >= 3 && memcmp(line->at, BYTE_ORDER_MARK, 3) == 0)
        *line = (struct cvp_tune_span){line->at + 3, line->length - 3};
    *at = newline ? newline + 1 : end;
    return 1;
}

/* ---- fields --------------------------------------------------------------------------------- */

/* Digits, and perhaps a point and digits; at most 15 digits in all, which a double holds exactly,
 * as it does the power of ten: so the quotient is the nearest double. Moves *at behind the tab. */
static int take_ms(const char **at, const char *end, double *value)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    const char *begin = *at, *tab = begin;
    if (begin >= end) return 0;
    uint64_t number = read_digits(&tab, 0);
    const int64_t before = tab - begin;
    int64_t behind = 0;
    if (*tab == '.') {
        const char *first = ++tab;
        number = read_digits(&tab, number);
        behind = tab - first;
        if (behind == 0) return 0;
    }
    *at = tab + 1;
    if (before < 1 || before + behind > 15 || *tab != '\t') return 0;
    *value = (double)number / powers[behind];
    return 1;
}

/* The name of a row. */
static int take_impl(const char **at, const char *end, struct cvp_tune_span *impl)
{
    return take(at, end, impl) && impl->length > 0 && impl->length < CVP_TUNE_IMPL &&
           !has_control(impl->at, impl->length);
}

/* What is left before the last tab. */
static int take_plan(const char *at, const char *end, struct cvp_tune_span *plan)
{
    if (at >= end || end[-1] != '\t') return 0;
    *plan = (struct cvp_tune_span){at, (size_t)(end - 1 - at)};
    return plan->length == 0 || (!memchr(at, '\t', plan->length) && !has_control(at, plan->length));
}

int cvp_tune_decode(const char *line, size_t length, struct cvp_tune_fields *f)
{
    const char *at = line + KIND_LENGTH, *end = line + length - HEX_DIGITS;
    int64_t version, bytes;
    if (!take(&at, end, &f->device) || !take(&at, end, &f->software) ||
        !take(&at, end, &f->problem) || !take_impl(&at, end, &f->impl) ||
        !take_number(&at, end, &version) || version > INT_MAX || !take_ms(&at, end, &f->ms) ||
        !take_ms(&at, end, &f->estimated_ms) || !take_number(&at, end, &bytes) ||
        !take_number(&at, end, &f->when) || !take_plan(at, end, &f->plan))
        return 0;
    f->impl_version = (int)version;
    f->workspace_bytes = (uint64_t)bytes;
    return 1;
}

/* A copy of the span, ended with a 0. */
static const char *put(char **at, struct cvp_tune_span span)
{
    char *text = *at;
    memcpy(text, span.at, span.length);
    text[span.length] = '\0';
    *at += span.length + 1;
    return text;
}

int cvp_tune_unpack(const char *line, size_t length, char **texts, convop_tune_record *record)
{
    struct cvp_tune_fields f;
    if (!cvp_tune_decode(line, length, &f)) return 0;
    *record = (convop_tune_record){.struct_size = sizeof *record,
                                   .device = put(texts, f.device),
                                   .software = put(texts, f.software),
                                   .problem = put(texts, f.problem),
                                   .impl = put(texts, f.impl),
                                   .impl_version = f.impl_version,
                                   .ms = f.ms,
                                   .estimated_ms = f.estimated_ms,
                                   .workspace_bytes = f.workspace_bytes,
                                   .when = f.when,
                                   .plan = put(texts, f.plan)};
    return 1;
}

int64_t cvp_tune_line_when(const char *line, size_t length)
{
    struct cvp_tune_fields fields;
    return cvp_tune_decode(line, length, &fields) ? fields.when : -1;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static convop_status check_text(const char *caller, const char *what, const char *text,
                                int may_miss)
{
    if (!text) return convop_fail(CONVOP_E_INVALID, "%s: %s is NULL", caller, what);
    size_t length = strlen(text);
    if (length == 0 && !may_miss)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is empty", caller, what);
    if (length > CVP_TUNE_MAX_LINE / 8)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has %zu bytes, at most %zu", caller, what,
                           length, CVP_TUNE_MAX_LINE / 8);
    if (memchr(text, '\t', length) || has_control(text, length))
        return convop_fail(CONVOP_E_INVALID, "%s: %s has a control character", caller, what);
    return CONVOP_OK;
}

static convop_status check_ms(const char *caller, const char *what, double ms)
{
    if (ms >= 0 && ms < MAX_MS) return CONVOP_OK;
    return convop_fail(CONVOP_E_INVALID, "%s: %s is %g, want 0 <= %s < %g", caller, what, ms, what,
                       MAX_MS);
}

static convop_status check_record(const char *caller, const convop_tune_record *r)
{
    CVP_RETURN_IF_ERROR(check_text(caller, "device", r->device, 0));
    CVP_RETURN_IF_ERROR(check_text(caller, "software", r->software, 0));
    CVP_RETURN_IF_ERROR(check_text(caller, "problem", r->problem, 0));
    CVP_RETURN_IF_ERROR(check_text(caller, "impl", r->impl, 0));
    CVP_RETURN_IF_ERROR(check_text(caller, "plan", r->plan, 1));
    if (strlen(r->impl) >= CVP_TUNE_IMPL)
        return convop_fail(CONVOP_E_INVALID, "%s: impl has %zu bytes, at most %zu", caller,
                           strlen(r->impl), CVP_TUNE_IMPL - 1);
    CVP_RETURN_IF_ERROR(check_ms(caller, "ms", r->ms));
    CVP_RETURN_IF_ERROR(check_ms(caller, "estimated_ms", r->estimated_ms));
    if (r->impl_version < 0)
        return convop_fail(CONVOP_E_INVALID, "%s: impl_version is %d", caller, r->impl_version);
    if (r->when < 0 || r->workspace_bytes > INT64_MAX / 10)
        return convop_fail(CONVOP_E_INVALID, "%s: when or workspace_bytes is out of range", caller);
    return CONVOP_OK;
}

convop_status cvp_tune_encode(const char *caller, const convop_tune_record *r, char **line,
                              size_t *length)
{
    CVP_RETURN_IF_ERROR(check_record(caller, r));
    /* The numbers and tabs take less than 160 bytes. */
    size_t size = strlen(r->device) + strlen(r->software) + strlen(r->problem) + strlen(r->impl) +
                  strlen(r->plan) + 256;
    char *text = cvp_malloc(size);
    if (!text) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for a record", caller);
    long long ns = llround(r->ms * 1e6), estimated_ns = llround(r->estimated_ms * 1e6);
    int n =
        snprintf(text, size, KIND "%s\t%s\t%s\t%s\t%d\t%lld.%06lld\t%lld.%06lld\t%llu\t%lld\t%s\t",
                 r->device, r->software, r->problem, r->impl, r->impl_version, ns / 1000000,
                 ns % 1000000, estimated_ns / 1000000, estimated_ns % 1000000,
                 (unsigned long long)r->workspace_bytes, (long long)r->when, r->plan);
    put_checksum(text + n, text, (size_t)n - 1);
    memcpy(text + n + HEX_DIGITS, "\n", 2);
    *line = text;
    *length = (size_t)n + HEX_DIGITS + 1;
    return CONVOP_OK;
}

/* ---- keys ----------------------------------------------------------------------------------- */

uint64_t cvp_tune_key_hash(const struct cvp_tune_key *key)
{
    const char *const texts[KEY_FIELDS] = {key->device, key->software, key->problem};
    uint64_t hash = 0;
    for (int i = 0; i < KEY_FIELDS; i++)
        hash = XXH3_64bits_withSeed(texts[i], strlen(texts[i]), hash);
    return hash;
}

static const char *skip(const char *at)
{
    while (*at != '\t') at++; /* strchr may look at the whole rest of the file first */
    return at + 1;
}

uint64_t cvp_tune_line_hash(const char *line)
{
    const char *at = line + KIND_LENGTH;
    uint64_t hash = 0;
    for (int i = 0; i < KEY_FIELDS; i++) {
        const char *next = skip(at);
        hash = XXH3_64bits_withSeed(at, (size_t)(next - 1 - at), hash);
        at = next;
    }
    return hash;
}

int cvp_tune_line_is(const char *line, const struct cvp_tune_key *key)
{
    const char *const texts[KEY_FIELDS] = {key->device, key->software, key->problem};
    const char *at = line + KIND_LENGTH;
    for (int i = 0; i < KEY_FIELDS; i++) {
        size_t length = strlen(texts[i]);
        if (strncmp(at, texts[i], length) != 0 || at[length] != '\t') return 0;
        at += length + 1;
    }
    return 1;
}

int cvp_tune_lines_equal(const char *a, const char *b)
{
    const char *end = a + KIND_LENGTH;
    for (int i = 0; i < KEY_FIELDS; i++) end = skip(end);
    return strncmp(a, b, (size_t)(end - a)) == 0;
}
