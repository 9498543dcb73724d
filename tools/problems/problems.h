/* Problems as the commands take them: descriptors with the options that count for them, from the
 * command line and from batch files as benchdnn writes them.
 *
 * A batch file is words: options and descriptors, as on the command line. '#' at the begin of a
 * word starts a comment, a backslash at the end of a line joins the words around it, --batch=FILE
 * reads another file, which lies relative to this one; --reset puts dir, dt, tag, mb, match and
 * attr-post-ops back to their defaults. Options that convop does not have are counted and left out,
 * and so are the values of dt and the tags that it does not have. */
#ifndef PROBLEMS_PROBLEMS_H
#define PROBLEMS_PROBLEMS_H

#include <argp.h>
#include <stdio.h>

#include "tools/problems/descriptor.h"
#include "tools/problems/kinds.h"

/* A list as it was given, none twice. */
#define MAX_CHOICES 16
struct choices {
    int count;
    int at[MAX_CHOICES];
};

#define MODE_CHECK 1u
#define MODE_TIME  2u

/* How a problem is run. Texts live as long as the list of problems. */
struct settings {
    struct choices directions, types, tags;
    struct choices src_tags, dst_tags; /* benchdnn's stag and dtag; count 0: not given */
    struct choices mbs;                /* instead of the descriptor's; count 0: that one */
    const char *match;                 /* POSIX extended expression; NULL: all problems */
    const char *lacks; /* why there is no type or no tag left to run it in; NULL: there is */
    struct post_ops post_ops;
    int threads; /* 0: as the process is set */

    /* Of bench alone. */
    unsigned mode;
    const char *impl; /* NULL: as the process is set; "all", or a list with commas: each */
    int repeat;       /* 0: as min_time says */
    double min_time;  /* ms */
    int prepared;
};

struct problem {
    const char *text; /* the descriptor as it was given; its name points into it */
    struct descriptor descriptor;
    struct settings settings; /* of each list, all values are meant, in all combinations */
    const char *swept;        /* "stride=2" where a sweep made it, else "" */
};

/* An option, or a value of one, of a batch file that convop does not have. */
struct left_out {
    const char *option;
    int count;
};

/* Batch files within batch files: one that names itself ends there. */
#define PROBLEMS_MAX_DEPTH 16

struct problem_list {
    struct problem *at;
    size_t count;
    struct left_out *left_out;
    size_t num_left_out;
    size_t not_matched; /* descriptors that `match` left out */

    /* For the reader. */
    int takes_run; /* 1: mode, impl, repeat, min-time and prepared are options too */
    struct settings now;
    unsigned since; /* options that were given after the last descriptor, by their bit */
    char **texts;
    size_t num_texts;
    int depth; /* of nested batch files */
};

/* Where and why a text was refused. */
struct problem_error {
    char text[512];
    const char *file; /* of a batch, else NULL */
    int line;
    char source[512]; /* the line, or the word of the command line; "" where none is meant */
    size_t at;        /* index in it */
    int failed;       /* 1: no wrong text, but a file that is not read, or no memory */
};

/* Two children of a command's argp; the input of both is the list. The first takes descriptors,
 * --batch, and the options dir, dt, tag, mb, match, attr-post-ops and threads; the second mode,
 * impl, repeat, min-time and prepared. A wrong one ends the program with CLI_USAGE. */
extern const struct argp problems_argp, problems_run_argp;

/* For the command's argp: puts what is to be said of descriptors and batch files before the text
 * behind the options. */
char *problems_help_filter(int key, const char *text, void *input);

/* Before the first option. */
void problems_init(struct problem_list *list);
void problems_free(struct problem_list *list);

/* 1, or 0 with *error filled. */
int problems_add(struct problem_list *list, const char *text, struct problem_error *error);
int problems_option(struct problem_list *list, const char *name, const char *value, int from_batch,
                    struct problem_error *error);
int problems_batch(struct problem_list *list, const char *path, struct problem_error *error);
int problems_read(struct problem_list *list, FILE *file, const char *path,
                  struct problem_error *error);

/* After the last one: options that stand behind all descriptors count for each; `match` and `mb`
 * are applied. problems_argp does so itself. */
int problems_finish(struct problem_list *list, struct problem_error *error);

/* Shows a refused text with a caret, and ends the program. */
void problems_stop(struct argp_state *state, const struct problem_error *error);

/* Writes the descriptor anew, as text, and reads it again: after a change of its values. 1, or 0
 * with *error filled. */
int problems_rewrite(struct problem_list *list, struct problem *problem,
                     struct problem_error *error);

/* A copy that lives as long as the list; NULL: no memory. */
const char *problems_keep(struct problem_list *list, const char *text);

#endif
