/* Problems in all the directions, types and layouts that are asked for, one after the other: what
 * `convop tune` and `convop explain` work through. */
#ifndef TUNE_CASES_H
#define TUNE_CASES_H

#include "convop/context.h"
#include "tools/problems/problems.h"
#include "tools/problems/query.h"

#define TUNE_MAX_ROWS 64

struct tune_case {
    const struct problem *problem; /* with settings.lacks, only this is set */
    enum direction direction;
    enum type type;
    enum tag tag;
    struct query query;
    convop_exec exec;
};

size_t tune_count_cases(const struct problem_list *list);

/* Calls visit for each, until it answers something else than CLI_OK; answers that. */
int tune_each_case(const struct problem_list *list, int (*visit)(struct tune_case *c, void *user),
                   void *user);

/* The name of its problem, or the descriptor; control characters are replaced. */
void tune_label(const struct tune_case *c, char *text, size_t size);

/* {"name": ..., "problem": ..., "dir": ..., "dt": ..., "tag": ... without the closing brace. */
void tune_json_begin(const struct tune_case *c);

/* , "key": value; a time of 0 is one that was not taken. */
void tune_json_text(const char *key, const char *text);
void tune_json_time(const char *key, double ms);

/* The path of the tuning cache. CLI_OK, or CLI_FAILURE after a sentence where nothing can be kept.
 */
int tune_find_file(char *path, size_t size);

/* The row that is chosen, or NULL. *count was a row list's count, which may exceed its room. */
const convop_conv_row *tune_chosen(const convop_conv_row *rows, size_t *count);

#endif
