/* Objects, and the counters that let a test fail the n-th allocation of any kind.
 *
 * The counters are relaxed atomics: tests set them while nothing else allocates, and no other
 * memory is published through them. */
#include "src/common/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/alloc_count.h"
#include "src/common/size.h"

static _Atomic uint64_t fail_at, calls, live;

int cvp_alloc_refused(void)
{
    uint64_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    return call == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

void cvp_alloc_count_live(int change)
{
    atomic_fetch_add_explicit(&live, (uint64_t)(int64_t)change, memory_order_relaxed);
}

void cvp_alloc_fail_at(uint64_t n)
{
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_at, n, memory_order_relaxed);
}

uint64_t cvp_alloc_calls(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

uint64_t cvp_alloc_live(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}

static void *counted(void *memory)
{
    if (memory != NULL) cvp_alloc_count_live(1);
    return memory;
}

/* NULL means "no memory" to every caller, so a size of 0 is asked for as 1. */
void *cvp_malloc(size_t bytes)
{
    if (cvp_alloc_refused()) return NULL;
    return counted(malloc(bytes > 0 ? bytes : 1));
}

void *cvp_calloc(size_t count, size_t bytes)
{
    if (cvp_alloc_refused()) return NULL;
    size_t total;
    if (!cvp_mul_size(count, bytes, &total)) return NULL;
    return counted(calloc(1, total > 0 ? total : 1));
}

void *cvp_realloc(void *old, size_t bytes)
{
    if (cvp_alloc_refused()) return NULL;
    void *memory = realloc(old, bytes > 0 ? bytes : 1);
    return old == NULL ? counted(memory) : memory;
}

char *cvp_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = cvp_malloc(bytes);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

void cvp_free(void *memory)
{
    if (memory == NULL) return;
    cvp_alloc_count_live(-1);
    free(memory);
}
