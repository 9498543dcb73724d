/* A record of the tuning cache as a line of text: the only form it has, in memory and in files.
 * The format: docs/tuning.md. Lines come without their newline and need no 0 at the end. */
#ifndef CVP_TUNING_RECORD_H
#define CVP_TUNING_RECORD_H

#include "src/operator/tuning/tuning.h"

#define CVP_TUNE_FORMAT CONVOP_TUNE_FORMAT

/* Bytes of a row's name, with its 0, where it is kept. */
#define CVP_TUNE_IMPL sizeof(((struct cvp_tune_choice *)0)->impl)

/* Longer lines are bad: 1 MiB. */
#define CVP_TUNE_MAX_LINE ((size_t)1 << 20)

enum cvp_tune_line {
    CVP_TUNE_BAD,     /* its checksum does not fit, or it has none */
    CVP_TUNE_COMMENT, /* empty, or a '#' that begins no header */
    CVP_TUNE_HEADER,
    CVP_TUNE_OTHER, /* sound, of a kind that a newer version knows */
    CVP_TUNE_CHOICE /* sound, with a key; the fields behind it have not been looked at */
};

/* What a line is. *format is set for a header. */
enum cvp_tune_line cvp_tune_line_kind(const char *line, size_t length, int *format);

/* The header line of our format, with its newline. */
#define CVP_TUNE_HEADER_SIZE 64
size_t cvp_tune_header(char *text);

struct cvp_tune_span {
    const char *at;
    size_t length;
};

/* The next line from *at, without its newline, a return before that and a byte order mark in front;
 * moves *at behind it. The last one may lack a newline. 0: there is none. */
int cvp_tune_next_line(const char **at, const char *end, struct cvp_tune_span *line);

/* What a choice says; texts lie in the line. */
struct cvp_tune_fields {
    struct cvp_tune_span device, software, problem, impl, plan;
    int impl_version;
    double ms, estimated_ms;
    uint64_t workspace_bytes;
    int64_t when;
};

/* 1 if all fields of a CVP_TUNE_CHOICE are well formed. */
int cvp_tune_decode(const char *line, size_t length, struct cvp_tune_fields *fields);

/* The record of a CVP_TUNE_CHOICE, its texts copied to *texts, which moves on behind them: the
 * length of the line suffices. 0: it is malformed. */
int cvp_tune_unpack(const char *line, size_t length, char **texts, convop_tune_record *record);

/* `when` of a CVP_TUNE_CHOICE; -1 if it is malformed, so that it is older than any that is not. */
int64_t cvp_tune_line_when(const char *line, size_t length);

/* The line of a record, with its newline and a 0, by cvp_malloc. INVALID: a text is NULL, empty
 * (but for the plan), has a control character or is too long, a number is out of range; NO_MEMORY.
 */
convop_status cvp_tune_encode(const char *caller, const convop_tune_record *record, char **line,
                              size_t *length);

/* Hashes of a key, and of the key of a CVP_TUNE_CHOICE: the same for the same key. */
uint64_t cvp_tune_key_hash(const struct cvp_tune_key *key);
uint64_t cvp_tune_line_hash(const char *line);

/* 1 if the key of a CVP_TUNE_CHOICE is this one; if both lines have the same key. */
int cvp_tune_line_is(const char *line, const struct cvp_tune_key *key);
int cvp_tune_lines_equal(const char *a, const char *b);

#endif
