/* All that was made and not yet ended, by kind. */
#include <string.h>

#include "tests/standin/state.h"

static struct {
    const void **at;
    size_t count, room;
    int stays;
} live[STANDIN_KINDS];

const char *standin_kind_name(enum standin_kind kind)
{
    static const char *const names[STANDIN_KINDS] = {
        [STANDIN_MEMORY] = "memory",
        [STANDIN_HOST_MEMORY] = "memory of the host",
        [STANDIN_STREAM] = "stream",
        [STANDIN_EVENT] = "event",
        [STANDIN_MODULE] = "module",
        [STANDIN_FUNCTION] = "function",
        [STANDIN_GRAPH] = "graph",
        [STANDIN_GRAPH_EXEC] = "executable graph",
        [STANDIN_CONTEXT] = "context",
        [STANDIN_PRIMARY] = "reference to a primary context",
        [STANDIN_CURRENT] = "current context",
        [STANDIN_HANDLE] = "handle of cuDNN",
        [STANDIN_DESCRIPTOR] = "descriptor",
    };
    return names[kind];
}

void standin_add(enum standin_kind kind, const void *object)
{
    if (live[kind].count == live[kind].room) {
        live[kind].room = live[kind].room ? 2 * live[kind].room : 16;
        live[kind].at = realloc(live[kind].at, live[kind].room * sizeof *live[kind].at);
        if (!live[kind].at) abort();
    }
    live[kind].at[live[kind].count++] = object;
}

static size_t find(enum standin_kind kind, const void *object)
{
    size_t i = live[kind].count;
    while (i > 0 && live[kind].at[i - 1] != object) i--;
    return i;
}

int standin_is_live(enum standin_kind kind, const void *object)
{
    return find(kind, object) > 0;
}

void standin_expect(enum standin_kind kind, const void *object)
{
    if (!standin_is_live(kind, object))
        standin_misuse(NULL, "%p is no %s, or one that was ended", object, standin_kind_name(kind));
}

void standin_remove(enum standin_kind kind, const void *object)
{
    standin_expect(kind, object);
    const size_t i = find(kind, object);
    live[kind].at[i - 1] = live[kind].at[live[kind].count - 1];
    live[kind].count--;
}

const void *standin_at(enum standin_kind kind, size_t i)
{
    return i < live[kind].count ? live[kind].at[i] : NULL;
}

long standin_live(enum standin_kind kind)
{
    pthread_mutex_lock(&standin_lock);
    const long n = (long)live[kind].count;
    pthread_mutex_unlock(&standin_lock);
    return n;
}

void standin_keeps(enum standin_kind kind)
{
    live[kind].stays = 1;
}

/* What convop keeps for its process is no misuse of a program that cannot call standin.keeps. */
static void keep_what_convop_keeps(void)
{
    static const enum standin_kind kept[] = {STANDIN_CONTEXT, STANDIN_PRIMARY, STANDIN_HANDLE,
                                             STANDIN_MODULE, STANDIN_DESCRIPTOR};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) live[kept[i]].stays = 1;
}

void standin_check_leaks(void)
{
    if (getenv("STANDIN_OF_A_PROGRAM")) keep_what_convop_keeps();
    for (int kind = 0; kind < STANDIN_KINDS; kind++)
        if (live[kind].count > 0 && !live[kind].stays && kind != STANDIN_FUNCTION)
            standin_misuse("exit", "left are %zu of: %s", live[kind].count,
                           standin_kind_name((enum standin_kind)kind));
}
