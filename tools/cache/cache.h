/* What the sub-commands of `convop cache` share. Each is one line in cache.c's table. */
#ifndef CACHE_H
#define CACHE_H

#include <argp.h>

#include "convop/tune.h"

struct cache_command {
    const char *name;
    const char *doc;
    int (*run)(int argc, char **argv); /* argv[0] is "convop cache NAME"; answers an exit status */
};

int cache_list(int argc, char **argv);
int cache_path(int argc, char **argv);
int cache_merge(int argc, char **argv);
int cache_prune(int argc, char **argv);
int cache_clear(int argc, char **argv);

/* A child of a command's argp: --device, --software, --problem, --impl. Its input is a
 * convop_tune_filter. */
extern const struct argp cache_filter_argp;

/* 1 if the filter has no text. */
int cache_takes_all(const convop_tune_filter *filter);

/* The path of the cache's file. CLI_OK, or CLI_FAILURE after a sentence where there is none, or
 * none that can be written to. */
int cache_find_file(char *path, size_t size);

/* "1 record", "2 records": s is appended where n is not 1. */
void cache_print_count(size_t n, const char *what);

#endif
