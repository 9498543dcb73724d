/* The pool of buffers.
 *
 * Freed buffers are kept by size class and handed out again, newest first: fresh pages cost more
 * than most arithmetic on them. Eight classes for each doubling, so at most an eighth is wasted
 * above 512 bytes. What is kept is bounded; beyond that the buffer that was kept longest goes back
 * to the system. Free buffers hold their own list links. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/common/alloc.h"
#include "src/common/alloc_count.h"
#include "src/common/cgroup.h"
#include "src/common/lock.h"
#include "src/common/size.h"

/* Under AddressSanitizer what the caller did not ask for is poisoned, as malloc's would be. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes)   ASAN_POISON_MEMORY_REGION(at, bytes)
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define POISON(at, bytes)   ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif

#define HUGE_PAGE ((size_t)2 << 20)
#define MAX_LOG2  46 /* buffers up to 2^47 bytes, the address space of a process */
#define CLASSES   (8 + 8 * (MAX_LOG2 - 8)) /* 8 up to 512 bytes, 8 for each doubling above */

/* A free buffer. Links lead to the newer and the older one, of its class and of all. */
struct block {
    struct block *newer, *older;
    struct block *all_newer, *all_older;
    size_t capacity;
    int index;
};
_Static_assert(sizeof(struct block) <= CVP_BUFFER_ALIGN, "the smallest buffer holds the links");

/* Guarded by CVP_LOCK_BUFFERS. */
static struct {
    struct block *newest[CLASSES];
    struct block *all_newest, *all_oldest;
    size_t used, kept; /* bytes of capacity */
} pool;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t kept_limit; /* constant after `once` */

/* A quarter of the memory that this process may use. */
static void find_kept_limit(void)
{
    struct cvp_cgroup cgroup;
    cvp_cgroup_read("", &cgroup);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    int64_t memory = pages > 0 && page > 0 ? (int64_t)pages * page : (int64_t)4 << 30;
    if (cgroup.memory > 0) memory = cvp_min_i64(memory, cgroup.memory);
    kept_limit = (size_t)(memory / 4);
}

/* The class of `bytes` and its capacity; -1 if there is none that large. */
static int class_of(size_t bytes, size_t *capacity)
{
    *capacity = 0;
    if (bytes <= 512) {
        *capacity = bytes > 0 ? cvp_round_up(bytes, CVP_BUFFER_ALIGN) : CVP_BUFFER_ALIGN;
        return (int)(*capacity / CVP_BUFFER_ALIGN) - 1;
    }
    int log2 = 63 - __builtin_clzll((unsigned long long)bytes - 1);
    if (log2 > MAX_LOG2) return -1;
    size_t step = (size_t)1 << (log2 - 3);
    *capacity = cvp_round_up(bytes, step);
    return 8 + 8 * (log2 - 9) + (int)(*capacity / step) - 9;
}

/* Large buffers begin on a huge page, which mmap alone does not promise. */
static void *map_huge(size_t capacity)
{
    size_t mapped = capacity + HUGE_PAGE;
    char *start = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t head = -(uintptr_t)start & (HUGE_PAGE - 1);
    if (head > 0) munmap(start, head);
    if (head < HUGE_PAGE) munmap(start + head + capacity, HUGE_PAGE - head);
    /* Advice: without huge pages the memory serves all the same. */
    (void)madvise(start + head, capacity, MADV_HUGEPAGE);
    return start + head;
}

static void *from_system(size_t capacity)
{
    return capacity >= HUGE_PAGE ? map_huge(capacity) : aligned_alloc(CVP_BUFFER_ALIGN, capacity);
}

static void to_system(void *memory, size_t capacity)
{
    UNPOISON(memory, capacity);
    if (capacity >= HUGE_PAGE) {
        munmap(memory, capacity);
    } else {
        free(memory);
    }
}

/* Gives back blocks that unlink() took out, chained by `older`. */
static size_t release_chain(struct block *chain)
{
    size_t bytes = 0;
    while (chain != NULL) {
        struct block *next = chain->older;
        bytes += chain->capacity;
        to_system(chain, chain->capacity);
        chain = next;
    }
    return bytes;
}

/* Both under the lock. */
static void keep(struct block *b)
{
    b->newer = NULL;
    b->older = pool.newest[b->index];
    if (b->older != NULL) b->older->newer = b;
    pool.newest[b->index] = b;
    b->all_newer = NULL;
    b->all_older = pool.all_newest;
    if (b->all_older != NULL) b->all_older->all_newer = b;
    pool.all_newest = b;
    if (pool.all_oldest == NULL) pool.all_oldest = b;
    pool.kept += b->capacity;
}

static void take(struct block *b)
{
    *(b->newer != NULL ? &b->newer->older : &pool.newest[b->index]) = b->older;
    if (b->older != NULL) b->older->newer = b->newer;
    *(b->all_newer != NULL ? &b->all_newer->all_older : &pool.all_newest) = b->all_older;
    *(b->all_older != NULL ? &b->all_older->all_newer : &pool.all_oldest) = b->all_newer;
    pool.kept -= b->capacity;
}

/* Takes out the oldest until at most `limit` bytes are kept. Under the lock. */
static struct block *take_above(size_t limit)
{
    struct block *chain = NULL;
    while (pool.kept > limit) {
        struct block *b = pool.all_oldest;
        take(b);
        b->older = chain;
        chain = b;
    }
    return chain;
}

static void *pool_alloc(size_t bytes)
{
    size_t capacity;
    int index = class_of(bytes, &capacity);
    if (index < 0) return NULL;
    cvp_lock(CVP_LOCK_BUFFERS);
    void *memory = pool.newest[index];
    if (memory != NULL) {
        take(memory);
        pool.used += capacity;
    }
    cvp_unlock(CVP_LOCK_BUFFERS);
    if (memory == NULL) {
        memory = from_system(capacity);
        if (memory == NULL && cvp_pool_trim() > 0) memory = from_system(capacity);
        if (memory == NULL) return NULL;
        cvp_lock(CVP_LOCK_BUFFERS);
        pool.used += capacity;
        cvp_unlock(CVP_LOCK_BUFFERS);
    }
    UNPOISON(memory, bytes);
    POISON((char *)memory + bytes, capacity - bytes);
    return memory;
}

static void pool_free(void *memory, size_t bytes)
{
    pthread_once(&once, find_kept_limit);
    struct block *b = memory, *chain = NULL;
    size_t capacity;
    int index = class_of(bytes, &capacity);
    int keeps = capacity <= kept_limit;
    UNPOISON(memory, capacity);
    if (keeps) {
        b->capacity = capacity;
        b->index = index;
        POISON(b + 1, capacity - sizeof(*b));
    }
    cvp_lock(CVP_LOCK_BUFFERS);
    pool.used -= capacity;
    if (keeps) {
        keep(b);
        chain = take_above(kept_limit);
    }
    cvp_unlock(CVP_LOCK_BUFFERS);
    release_chain(chain);
    if (!keeps) to_system(memory, capacity);
}

void *cvp_buffer_alloc(const convop_allocator *hooks, size_t bytes)
{
    if (cvp_alloc_refused()) return NULL;
    void *memory;
    if (hooks != NULL && hooks->alloc != NULL) {
        size_t asked = bytes > 0 ? bytes : 1;
        memory = hooks->alloc(hooks->user, asked, CVP_BUFFER_ALIGN);
        /* Kernels trust the alignment; memory that breaks the promise is as good as none. */
        if ((uintptr_t)memory % CVP_BUFFER_ALIGN != 0) {
            hooks->release(hooks->user, memory, asked);
            return NULL;
        }
    } else {
        memory = pool_alloc(bytes);
    }
    if (memory != NULL) cvp_alloc_count_live(1);
    return memory;
}

void cvp_buffer_free(const convop_allocator *hooks, void *memory, size_t bytes)
{
    if (memory == NULL) return;
    cvp_alloc_count_live(-1);
    if (hooks != NULL && hooks->alloc != NULL) {
        hooks->release(hooks->user, memory, bytes > 0 ? bytes : 1);
    } else {
        pool_free(memory, bytes);
    }
}

size_t cvp_pool_trim(void)
{
    cvp_lock(CVP_LOCK_BUFFERS);
    struct block *chain = take_above(0);
    cvp_unlock(CVP_LOCK_BUFFERS);
    return release_chain(chain);
}

void cvp_pool_usage(size_t *used, size_t *kept)
{
    cvp_lock(CVP_LOCK_BUFFERS);
    *used = pool.used;
    *kept = pool.kept;
    cvp_unlock(CVP_LOCK_BUFFERS);
}
