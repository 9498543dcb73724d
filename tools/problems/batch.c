/* Batch files: words, comments, lines that go on, files within files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/problems/internal.h"

struct batch {
    struct problem_list *list;
    const char *path; /* kept by the list */
    struct problem_error *error;

    /* The word that may go on, and the line and place where it begins. */
    char *word;
    size_t length, room;
    char source[sizeof((struct problem_error *)0)->source];
    size_t at;
    int word_line;
};

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

/* ---- the words' meaning -------------------------------------------------------------------- */

/* A path that is relative to the file that names it. */
static int nested(struct batch *b, const char *name)
{
    const char *slash = strrchr(b->path, '/');
    size_t folder = name[0] != '/' && slash ? (size_t)(slash - b->path) + 1 : 0;
    char *path = NULL;
    if (asprintf(&path, "%.*s%s", (int)folder, b->path, name) < 0)
        return problems_no_memory(b->error);
    int done = problems_batch(b->list, path, b->error);
    free(path);
    return done;
}

static int take_option(struct batch *b, char *name)
{
    char *equals = strchr(name, '=');
    if (equals) *equals = '\0';
    const char *value = equals ? equals + 1 : NULL;
    if (strcmp(name, "batch") == 0 && value) return nested(b, value);
    return problems_option(b->list, name, value, 1, b->error);
}

/* What was refused lies in this line; the place counts from the begin of the word. */
static int place_error(struct batch *b)
{
    struct problem_error *e = b->error;
    if (e->file || e->failed) return 0; /* of a nested file, or of none */
    e->file = b->path;
    e->line = b->word_line;
    e->at += b->at;
    memcpy(e->source, b->source, sizeof e->source);
    return 0;
}

static int end_word(struct batch *b)
{
    if (!b->length) return 1;
    b->length = 0;
    int taken = strncmp(b->word, "--", 2) == 0 ? take_option(b, b->word + 2)
                : b->word[0] == '-'            ? problems_leave_out(b->list, b->word, b->error)
                                               : problems_add(b->list, b->word, b->error);
    return taken || place_error(b);
}

/* ---- the words ----------------------------------------------------------------------------- */

static int append(struct batch *b, const char *text, size_t length)
{
    if (b->length + length + 1 > b->room) {
        size_t room = 2 * (b->length + length + 1);
        char *word = realloc(b->word, room);
        if (!word) return problems_no_memory(b->error);
        b->word = word;
        b->room = room;
    }
    memcpy(b->word + b->length, text, length);
    b->length += length;
    b->word[b->length] = '\0';
    return 1;
}

/* Bytes of the word at s. Blanks between quotes belong to it, if the line has both quotes. */
static size_t word_length(const char *s)
{
    size_t n = 0;
    while (s[n] && !is_blank(s[n])) {
        const char *closing = s[n] == '"' ? strchr(s + n + 1, '"') : NULL;
        n = closing ? (size_t)(closing - s) + 1 : n + 1;
    }
    return n;
}

static size_t skip_blanks(const char *line, size_t at)
{
    while (is_blank(line[at])) at++;
    return at;
}

/* The words of one line. *joins: the last word of the line before goes on; then whether that of
 * this one does. */
static int read_line(struct batch *b, const char *line, int number, int *joins)
{
    int joined = *joins;
    *joins = 0;
    for (size_t at = skip_blanks(line, 0); line[at] && line[at] != '#';) {
        size_t length = word_length(line + at), next = skip_blanks(line, at + length);
        *joins = line[at + length - 1] == '\\' && !line[next];
        int lone = *joins && length == 1; /* joins the word before it */
        if (!joined && !lone && !end_word(b)) return 0;
        if (b->length == 0) {
            snprintf(b->source, sizeof b->source, "%.*s", (int)strcspn(line, "\r\n"), line);
            b->at = at;
            b->word_line = number;
        }
        if (!append(b, line + at, length - (size_t)*joins)) return 0;
        joined = 0;
        at = next;
    }
    return *joins || end_word(b);
}

int problems_read(struct problem_list *list, FILE *file, const char *path,
                  struct problem_error *error)
{
    struct batch b = {.list = list, .error = error, .path = problems_keep(list, path)};
    if (!b.path) return problems_no_memory(error);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int good = 1, joins = 0;
    for (int number = 1; good && (length = getline(&line, &room, file)) >= 0; number++) {
        if (strlen(line) == (size_t)length) {
            good = read_line(&b, line, number, &joins);
            continue;
        }
        good = problems_refuse(error, "a zero byte: this is no text");
        error->file = b.path;
        error->line = number;
    }
    if (good && ferror(file)) {
        good = problems_refuse(error, "%s: %s", path, strerror(errno));
        error->failed = 1;
    }
    good = good && end_word(&b);
    free(line);
    free(b.word);
    return good;
}

int problems_batch(struct problem_list *list, const char *path, struct problem_error *error)
{
    if (list->depth == PROBLEMS_MAX_DEPTH)
        return problems_refuse(error, "%s: batch files within batch files, more than %d deep", path,
                               PROBLEMS_MAX_DEPTH);
    FILE *file = fopen(path, "r");
    if (!file) {
        problems_refuse(error, "%s: %s", path, strerror(errno));
        error->failed = 1;
        return 0;
    }
    list->depth++;
    int good = problems_read(list, file, path, error);
    list->depth--;
    fclose(file);
    return good;
}
