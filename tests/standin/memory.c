/* Memory of the devices. Each device has a range of addresses that the host may not touch and that
 * are never used twice; the bytes lie elsewhere. Each allocation remembers which work touched which
 * range of it, as far as other work could still clash with it. */
#include <string.h>
#include <sys/mman.h>

#include "tests/standin/state.h"

#define RANGE  ((size_t)64 << 30) /* addresses of a device */
#define UNIT   512                /* at least so far apart, and aligned to it */
#define MEMORY ((size_t)1 << 30)  /* bytes of a device unless told */
#define JUNK   0xff               /* what memory holds at first: NaN in each type */

struct access {
    size_t begin, end;
    int writes;
    unsigned slot, number;
    const char *what;
};

struct allocation {
    unsigned long long address;
    size_t bytes;
    unsigned char *data; /* NULL: freed */
    struct CUctx_st *context;
    int in_order; /* of the device's pool: any context of the device may use it */
    unsigned freed_slot, freed_number; /* the work that freed it, where some did */
    struct access *accesses;
    size_t count, room;
};

static struct device {
    unsigned long long base;
    size_t used_addresses, used, limit;
    struct allocation **at; /* by address */
    size_t count;
} devices[STANDIN_DEVICES];

/* With addresses, once it is used. */
static struct device *device_at(int i)
{
    struct device *d = &devices[i];
    if (!d->base) {
        void *range =
            mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) abort();
        d->base = (uintptr_t)range;
        if (!d->limit) d->limit = MEMORY;
    }
    return d;
}

/* The last one that begins at or before an address; NULL: it is no device's, or before all. */
static struct allocation *find(unsigned long long address)
{
    for (int i = 0; i < STANDIN_DEVICES; i++) {
        const struct device *d = &devices[i];
        if (!d->base || address < d->base || address - d->base >= RANGE) continue;
        size_t low = 0, high = d->count;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            if (d->at[middle]->address <= address)
                low = middle + 1;
            else
                high = middle;
        }
        return low ? d->at[low - 1] : NULL;
    }
    return NULL;
}

int standin_is_device_address(const void *address)
{
    for (int i = 0; i < STANDIN_DEVICES; i++)
        if (devices[i].base && (uintptr_t)address - devices[i].base < RANGE) return 1;
    return 0;
}

struct CUctx_st *standin_owner(unsigned long long address)
{
    const struct allocation *a = find(address);
    return a && a->data && address - a->address < a->bytes ? a->context : NULL;
}

void standin_expect_host(const void *address)
{
    if (standin_is_device_address(address))
        standin_misuse(NULL, "%p is memory of a device, want the host's", address);
}

unsigned long long standin_alloc(struct CUctx_st *context, size_t bytes, int in_order)
{
    struct device *d = device_at(context->device);
    const size_t step = (bytes / UNIT + 2) * UNIT;
    if (d->used > d->limit || bytes > d->limit - d->used || step > RANGE - d->used_addresses)
        return 0;
    struct allocation *a = calloc(1, sizeof *a);
    struct allocation **more = realloc(d->at, (d->count + 1) * sizeof(struct allocation *));
    if (!a || !more || posix_memalign((void **)&a->data, UNIT, bytes) != 0) abort();
    d->at = more;
    d->at[d->count++] = a;
    memset(a->data, JUNK, bytes);
    a->address = d->base + d->used_addresses;
    a->bytes = bytes;
    a->context = context;
    a->in_order = in_order;
    d->used_addresses += step;
    d->used += bytes;
    standin_add(STANDIN_MEMORY, a);
    return a->address;
}

static struct allocation *expect(unsigned long long address, size_t bytes, const char *what)
{
    struct allocation *a = find(address);
    if (!a && !standin_is_device_address((const void *)(uintptr_t)address))
        standin_misuse(what, "%#llx is memory of the host, want a device's", address);
    if (!a || address - a->address >= a->bytes)
        standin_misuse(what, "no allocation has the address %#llx", address);
    if (!a->data) standin_misuse(what, "the memory at %#llx was freed", address);
    if (bytes > a->bytes - (address - a->address))
        standin_misuse(what, "%zu bytes at byte %llu of an allocation of %zu", bytes,
                       address - a->address, a->bytes);
    return a;
}

void standin_expect_alloc(struct CUctx_st *context, unsigned long long address)
{
    const struct allocation *a = expect(address, 0, NULL);
    if (a->address != address) standin_misuse(NULL, "%#llx is inside of an allocation", address);
    if (a->in_order ? a->context->device != context->device : a->context != context)
        standin_misuse(NULL, "the memory is of another context");
}

size_t standin_alloc_bytes(unsigned long long address)
{
    return find(address)->bytes;
}

void standin_free(unsigned long long address, const struct op *op)
{
    struct allocation *a = expect(address, 0, NULL);
    if (op) {
        a->freed_slot = op->stream->slot;
        a->freed_number = op->number;
    }
    devices[a->context->device].used -= a->bytes;
    free(a->data);
    free(a->accesses);
    a->data = NULL;
    a->accesses = NULL;
    a->count = a->room = 0;
    standin_remove(STANDIN_MEMORY, a);
}

__attribute__((noreturn)) static void no_order(const struct op *op, const char *other)
{
    standin_misuse(op->work->what,
                   "no order between this and %s on another stream, one of which writes what the "
                   "other touches",
                   other);
}

void *standin_touch(struct op *op, unsigned long long address, size_t bytes, int writes)
{
    pthread_mutex_lock(&standin_lock);
    struct allocation *a = find(address);
    if (a && !a->data && a->freed_number > op->clock.at[a->freed_slot])
        no_order(op, "cuMemFreeAsync");
    a = expect(address, bytes, op->work->what);
    if (a->in_order ? a->context->device != op->stream->context->device
                    : a->context != op->stream->context)
        standin_misuse(op->work->what, "the memory is of another context than the stream");
    pthread_mutex_unlock(&standin_lock);
    const size_t begin = address - a->address, end = begin + bytes;
    struct touched *t = op->touched;
    size_t i = 0;
    while (i < op->touches && (t[i].allocation != a || t[i].writes != writes)) i++;
    if (i == op->touches) {
        t = op->touched = realloc(op->touched, (i + 1) * sizeof *t);
        if (!t) abort();
        t[op->touches++] = (struct touched){a, begin, end, writes};
    }
    if (begin < t[i].begin) t[i].begin = begin;
    if (end > t[i].end) t[i].end = end;
    return a->data + begin;
}

/* Whether one that was noted lies before an op. */
static int is_before(const struct access *a, const struct op *op)
{
    return a->number <= op->clock.at[a->slot];
}

static void note(struct allocation *a, const struct touched *t, const struct op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++) {
        const struct access *old = &a->accesses[i];
        const int overlaps = old->begin < t->end && t->begin < old->end;
        if (overlaps && (old->writes || t->writes) && !is_before(old, op)) no_order(op, old->what);
        /* What comes after this comes after all that it covers. */
        const int covered = t->begin <= old->begin && old->end <= t->end && is_before(old, op) &&
                            (t->writes || (!old->writes && old->slot == op->stream->slot));
        if (!covered) a->accesses[n++] = *old;
    }
    if (n == a->room) {
        a->room = a->room ? 2 * a->room : 8;
        a->accesses = realloc(a->accesses, a->room * sizeof *a->accesses);
        if (!a->accesses) abort();
    }
    a->accesses[n++] =
        (struct access){t->begin, t->end, t->writes, op->stream->slot, op->number, op->work->what};
    a->count = n;
}

void standin_touched(struct op *op)
{
    pthread_mutex_lock(&standin_lock);
    for (size_t i = 0; i < op->touches; i++)
        if (op->touched[i].allocation->data)
            note(op->touched[i].allocation, &op->touched[i], op);
        else
            standin_misuse(op->work->what, "the memory was freed while this ran");
    op->touches = 0;
    pthread_mutex_unlock(&standin_lock);
}

void standin_limit_memory(int device, size_t bytes)
{
    pthread_mutex_lock(&standin_lock);
    device_at(device)->limit = bytes;
    pthread_mutex_unlock(&standin_lock);
}

void standin_memory_info(int device, size_t *available, size_t *total)
{
    const struct device *d = device_at(device);
    *available = d->used < d->limit ? d->limit - d->used : 0;
    *total = d->limit;
}

static unsigned char *at_rest(unsigned long long address, size_t bytes)
{
    pthread_mutex_lock(&standin_lock);
    standin_wait_for_context(NULL);
    const struct allocation *a = expect(address, bytes, "the test");
    pthread_mutex_unlock(&standin_lock);
    return a->data + (address - a->address);
}

void standin_write(unsigned long long to, const void *from, size_t bytes)
{
    if (bytes) memcpy(at_rest(to, bytes), from, bytes);
}

void standin_read(void *to, unsigned long long from, size_t bytes)
{
    if (bytes) memcpy(to, at_rest(from, bytes), bytes);
}
