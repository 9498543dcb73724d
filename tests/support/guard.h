/* Memory for tests that ends, or begins, at a page that may not be touched. */
#ifndef CVP_TESTS_GUARD_H
#define CVP_TESTS_GUARD_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
    void *data;
    size_t bytes;
    char *pages;
    size_t mapped;
};

/* Guard pages lie on both sides; the data touch the one behind (at_end) or the one before.
 * At the end it is as aligned as its size, at the beginning it is page-aligned. */
static inline struct guard guard_create(size_t bytes, int at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inner = (bytes + page - 1) / page * page;
    struct guard g = {NULL, bytes, NULL, inner + 2 * page};
    g.pages = mmap(NULL, g.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.pages == MAP_FAILED) abort();
    if (inner && mprotect(g.pages + page, inner, PROT_READ | PROT_WRITE) != 0) abort();
    g.data = g.pages + page + (at_end ? inner - bytes : 0);
    return g;
}

static inline void guard_destroy(struct guard *g)
{
    munmap(g->pages, g->mapped);
    g->data = g->pages = NULL;
}

#endif
