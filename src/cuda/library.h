/* A library of somebody else's as a table of functions: opened by name when first needed, once a
 * process, and never closed. */
#ifndef CVP_CUDA_LIBRARY_H
#define CVP_CUDA_LIBRARY_H

#include <stdatomic.h>

#include "src/common/settings.h"

/* A function, and where its address goes in the table. */
struct cvp_symbol {
    const char *name;
    size_t offset;
};

struct cvp_library {
    enum cvp_setting setting; /* a path or a soname; "none" opens none */
    const char *setting_name;
    const char *soname; /* when the setting is empty */
    const struct cvp_symbol *symbols;
    size_t symbol_count;
    void *table;
    /* Asked once the table is full: 1, or 0 with the reason why the library is not used. */
    int (*check)(char *why, size_t size);

    /* Set when it is opened; final once `known`. */
    atomic_int known;
    int used;
    unsigned forks; /* between the first process and the one that opened it */
    char why[256];
};

/* The table, or NULL with *why, which stays: the first call decides, under a lock that a thread
 * which forks waits for. */
void *cvp_library_open(struct cvp_library *library, const char **why);

/* 1 in a process that was forked from the one that opened it. */
int cvp_library_is_inherited(const struct cvp_library *library);

/* The file that a function of an opened library is in; "" if that cannot be told. */
const char *cvp_library_path(const struct cvp_library *library);

#endif
