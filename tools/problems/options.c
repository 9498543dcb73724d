/* Options by name and value: the same ones on the command line and in batch files. */
#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/problems/internal.h"

const struct settings problems_defaults = {
    .directions = {1, {FWD_B}},
    .types = {1, {F32}},
    .tags = {1, {NCHW}},
    .mode = MODE_CHECK,
    .min_time = 200,
};

/* Its number is its bit in `since`. Those before OPT_THREADS describe the problem: --reset takes
 * them back. */
enum option_id {
    OPT_DIR,
    OPT_DT,
    OPT_TAG,
    OPT_SRC_TAG,
    OPT_DST_TAG,
    OPT_MB,
    OPT_MATCH,
    OPT_POST_OPS,
    OPT_THREADS,
    OPT_MODE, /* from here on: of those that run problems */
    OPT_IMPL,
    OPT_REPEAT,
    OPT_MIN_TIME,
    OPT_PREPARED,
    NUM_OPTIONS
};

/* In the order of enum option_id, then other names. */
static const struct {
    const char *name;
    enum option_id option;
} names[] = {
    {"dir", OPT_DIR},
    {"dt", OPT_DT},
    {"tag", OPT_TAG},
    {"stag", OPT_SRC_TAG},
    {"dtag", OPT_DST_TAG},
    {"mb", OPT_MB},
    {"match", OPT_MATCH},
    {"threads", OPT_THREADS},
    {"mode", OPT_MODE},
    {"impl", OPT_IMPL},
    {"repeat", OPT_REPEAT},
    {"min-time", OPT_MIN_TIME},
    {"prepared", OPT_PREPARED},
    {"cfg", OPT_DT},
    {"fix-times-per-prb", OPT_REPEAT},
    {"attr-post-ops", OPT_POST_OPS},
};

/* What other options say where they ask for nothing that convop does not do anyway. */
static const char *const neutral[][2] = {
    {"alg", "direct"}, {"alg", "auto"}, {"wtag", "any"}, {"engine", "cpu"}, {"conv", NULL}};

int problems_refuse(struct problem_error *error, const char *format, ...)
{
    *error = (struct problem_error){.at = 0};
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return 0;
}

int problems_choose(struct choices *list, int value)
{
    for (int i = 0; i < list->count; i++)
        if (list->at[i] == value) return 1;
    if (list->count == MAX_CHOICES) return 0;
    list->at[list->count++] = value;
    return 1;
}

/* ---- values -------------------------------------------------------------------------------- */

static int find_side_tag(const char *name)
{
    if (strcasecmp(name, "any") == 0 || !name[0]) return ANY_TAG;
    int tag = find_tag(name);
    return tag < 0 ? UNKNOWN_TAG : tag;
}

static int read_number(const char *text, long low, long high, int *value)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < low || v > high) return 0;
    *value = (int)v;
    return 1;
}

static int find_mb(const char *text)
{
    int value;
    return read_number(text, 0, INT32_MAX, &value) ? value : -1;
}

static int read_mode(const char *text, unsigned *mode)
{
    *mode = 0;
    for (const char *s = text; *s; s++) {
        unsigned bit = *s == 'C' || *s == 'c' ? MODE_CHECK : *s == 'P' || *s == 'p' ? MODE_TIME : 0;
        if (!bit) return 0;
        *mode |= bit;
    }
    return *mode != 0;
}

struct reading {
    struct problem_list *list;
    const char *name, *value;
    int from_batch;
    struct problem_error *error;
};

static int refuse_value(const struct reading *r, const char *allowed)
{
    return problems_refuse(r->error, "--%s=%s: allowed are %s", r->name, r->value, allowed);
}

/* The word of a list that convop does not have. */
static int leave_out_word(const struct reading *r, const char *word)
{
    char option[128];
    snprintf(option, sizeof option, "--%s=%s", r->name, word);
    return problems_leave_out(r->list, option, r->error);
}

/* A list with commas. In a batch file words that have no meaning here are left out, if `lenient`,
 * and what remains may be nothing. */
static int read_list(const struct reading *r, int (*find)(const char *name), const char *allowed,
                     int lenient, struct choices *list)
{
    struct choices read = {0};
    for (const char *text = r->value;;) {
        char word[64];
        size_t length = strcspn(text, ",");
        int fits = length < sizeof word;
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int value = fits ? find(word) : -1;
        if (value < 0 && find != find_side_tag) {
            if (!lenient || !r->from_batch) return refuse_value(r, allowed);
            if (!leave_out_word(r, word)) return 0;
        } else if (value == UNKNOWN_TAG && !leave_out_word(r, word)) {
            return 0;
        } else if (!problems_choose(&read, value)) {
            return problems_refuse(r->error, "--%s=%s: more than %d values", r->name, r->value,
                                   MAX_CHOICES);
        }
        if (!text[length]) break;
        text += length + 1;
    }
    *list = read;
    return 1;
}

static int read_match(const struct reading *r, struct settings *s)
{
    regex_t compiled;
    if (regcomp(&compiled, r->value, REG_EXTENDED | REG_NOSUB) != 0)
        return refuse_value(r, "extended regular expressions");
    regfree(&compiled);
    s->match = r->value[0] ? problems_keep(r->list, r->value) : NULL;
    return !r->value[0] || s->match || problems_no_memory(r->error);
}

static int read_post_ops(const struct reading *r, struct settings *s)
{
    if (find_post_ops(r->value, &s->post_ops)) return 1;
    if (r->from_batch) return problems_leave_out(r->list, "--attr-post-ops", r->error);
    return refuse_value(r, "sum or add, relu or clip:0:6, or one of each with + between");
}

static int read_min_time(const struct reading *r, struct settings *s)
{
    int ms;
    if (!read_number(r->value, 1, 3600000, &ms)) return refuse_value(r, "1 to 3600000");
    s->min_time = ms;
    s->repeat = 0;
    return 1;
}

static int read_tag(const struct reading *r, struct settings *s)
{
    s->src_tags.count = s->dst_tags.count = 0;
    return read_list(r, find_tag, "nchw, nhwc", 1, &s->tags);
}

static int read_option(const struct reading *r, enum option_id option, struct settings *s)
{
    switch (option) {
    case OPT_DIR:
        return read_list(r, find_direction, "FWD_B, FWD_D, FWD_I, BWD_D, BWD_W, BWD_WB", 0,
                         &s->directions);
    case OPT_DT: return read_list(r, find_type, "f32, f64, f16, bf16", 1, &s->types);
    case OPT_TAG: return read_tag(r, s);
    case OPT_SRC_TAG: return read_list(r, find_side_tag, "", 1, &s->src_tags);
    case OPT_DST_TAG: return read_list(r, find_side_tag, "", 1, &s->dst_tags);
    case OPT_MB: return read_list(r, find_mb, "0 to 2147483647", 0, &s->mbs);
    case OPT_MATCH: return read_match(r, s);
    case OPT_POST_OPS: return read_post_ops(r, s);
    case OPT_THREADS:
        return read_number(r->value, 0, 4096, &s->threads) || refuse_value(r, "0 to 4096");
    case OPT_MODE: return read_mode(r->value, &s->mode) || refuse_value(r, "C, P, CP");
    case OPT_IMPL:
        s->impl = problems_keep(r->list, r->value);
        return s->impl || problems_no_memory(r->error);
    case OPT_REPEAT:
        return read_number(r->value, 1, 1000000, &s->repeat) || refuse_value(r, "1 to 1000000");
    case OPT_MIN_TIME: return read_min_time(r, s);
    case OPT_PREPARED: return s->prepared = 1;
    case NUM_OPTIONS: break;
    }
    return 0;
}

void problems_copy_options(unsigned bits, const struct settings *from, struct settings *to)
{
#define COPY(option, member)                                                                       \
    if (bits & 1u << (option)) to->member = from->member
    COPY(OPT_DIR, directions);
    COPY(OPT_DT, types);
    COPY(OPT_TAG, tags);
    COPY(OPT_TAG, src_tags);
    COPY(OPT_TAG, dst_tags);
    COPY(OPT_SRC_TAG, src_tags);
    COPY(OPT_DST_TAG, dst_tags);
    COPY(OPT_MB, mbs);
    COPY(OPT_MATCH, match);
    COPY(OPT_POST_OPS, post_ops);
    COPY(OPT_THREADS, threads);
    COPY(OPT_MODE, mode);
    COPY(OPT_IMPL, impl);
    COPY(OPT_REPEAT, repeat);
    COPY(OPT_MIN_TIME, repeat);
    COPY(OPT_MIN_TIME, min_time);
    COPY(OPT_PREPARED, prepared);
#undef COPY
}

/* ---- names --------------------------------------------------------------------------------- */

static int is_neutral(const char *name, const char *value)
{
    if (value && !value[0]) return 1; /* as if it had not been given */
    for (size_t i = 0; i < sizeof neutral / sizeof neutral[0]; i++)
        if (strcmp(neutral[i][0], name) == 0 &&
            (!value || (neutral[i][1] && strcasecmp(neutral[i][1], value) == 0)))
            return 1;
    return 0;
}

static int reset(struct settings *s)
{
    struct settings kept = *s;
    *s = problems_defaults;
    problems_copy_options(~0u << OPT_THREADS, &kept, s);
    return 1;
}

int problems_option(struct problem_list *list, const char *name, const char *value, int from_batch,
                    struct problem_error *error)
{
    struct reading r = {list, name, value ? value : "", from_batch, error};
    if (strcmp(name, "reset") == 0 && !value) return reset(&list->now);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum option_id option = names[i].option;
        if (strcmp(names[i].name, name) != 0 || (option >= OPT_MODE && !list->takes_run)) continue;
        if (!read_option(&r, option, &list->now)) return 0;
        if (!from_batch) list->since |= 1u << option;
        return 1;
    }
    char text[128];
    snprintf(text, sizeof text, "--%s", name);
    return is_neutral(name, value) || problems_leave_out(list, text, error);
}
