/* What the fuzzers share: an input is text, its first line an operator's name, then a line
 * key=value for each parameter up to an empty line; what follows that is the fuzzer's own. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold ends the process; the fuzzer then keeps the input. */
#define FUZZ_CHECK(holds)                                                                          \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\nlast error: %s\n", __FILE__, __LINE__,      \
                    #holds, convop_last_error());                                                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define FUZZ_MAX_PAIRS 24

struct fuzz_input {
    char *text; /* cut into strings */
    const char *name;
    size_t num_pairs;
    const char *keys[FUZZ_MAX_PAIRS], *values[FUZZ_MAX_PAIRS];
    char *rest;
};

/* The line at *at, ended with 0; moves *at behind it. NULL when there is none. */
static inline char *fuzz_line(char **at)
{
    char *line = *at;
    if (line == NULL || *line == '\0') return NULL;
    char *end = strchr(line, '\n');
    if (end != NULL) *end = '\0';
    *at = end != NULL ? end + 1 : NULL;
    return line;
}

static inline void fuzz_split(struct fuzz_input *in, const uint8_t *data, size_t size)
{
    memset(in, 0, sizeof *in);
    in->text = malloc(size + 1);
    if (in->text == NULL) abort();
    if (size > 0) memcpy(in->text, data, size);
    in->text[size] = '\0';
    in->rest = in->text;
    in->name = fuzz_line(&in->rest);
    if (in->name == NULL) in->name = "";
    for (char *line; (line = fuzz_line(&in->rest)) != NULL && *line != '\0';) {
        if (in->num_pairs == FUZZ_MAX_PAIRS) break;
        char *equals = strchr(line, '=');
        if (equals != NULL) *equals = '\0';
        in->keys[in->num_pairs] = line;
        in->values[in->num_pairs++] = equals != NULL ? equals + 1 : NULL;
    }
}

/* A failing call leaves one sentence of one line. */
static inline void fuzz_check_sentence(void)
{
    const char *text = convop_last_error();
    FUZZ_CHECK(text[0] != '\0');
    FUZZ_CHECK(strlen(text) < 4096);
}

#endif
