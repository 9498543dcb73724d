// Buffers that kernels may touch, shared memory, launches.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <unordered_set>
#include <vector>

#include "tests/cuda_host/cuda_host.h"
#include "tests/cuda_host/language.hpp"
#include "tests/cuda_host/scheduler.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

// What a launch may ask for at most without an attribute of the kernel.
#define SHARED_BYTES (48 << 10)
#define SECTOR       32

extern uint4 cvp_shared[];
uint4 cvp_shared[SHARED_BYTES / sizeof(uint4)];

struct cuda_host_options cuda_host_options;
void *(*cuda_host_translate)(const void *address, size_t bytes, int writes);

namespace cuda_host {

namespace {

struct buffer {
    size_t bytes, size;
    cuda_host_seen seen;
    std::vector<unsigned char> stores; // by element
};

std::map<uintptr_t, buffer> buffers; // by address
std::unordered_set<uintptr_t> sectors;
char error[200];
int loads;

// The buffer that has an access, or NULL after a failure.
buffer *find(const char *what, const void *at, size_t bytes, size_t *offset)
{
    const uintptr_t address = (uintptr_t)at;
    auto after = buffers.upper_bound(address);
    if (after != buffers.begin()) {
        auto &[start, b] = *--after;
        *offset = address - start;
        if (*offset + bytes <= b.bytes) {
            if (address % bytes) fail("a %s of %zu bytes is not aligned", what, bytes);
            return &b;
        }
    }
    fail("a %s of %zu bytes is outside of all tensors", what, bytes);
    return nullptr;
}

} // namespace

void fail(const char *format, ...)
{
    if (error[0]) return;
    const int n = snprintf(error, sizeof error, "block %u,%u,%u thread %u: ", block.x, block.y,
                           block.z, thread.x);
    va_list args;
    va_start(args, format);
    vsnprintf(error + n, sizeof error - (size_t)n, format, args);
    va_end(args);
}

bool failed()
{
    return error[0] != '\0';
}

void begin_block()
{
    sectors.clear();
}

const void *loading(const void *from, size_t bytes)
{
    static const uint4 zero[2] = {};
    size_t offset;
    if (cuda_host_translate) return cuda_host_translate(from, bytes, 0);
    if (++loads == cuda_host_options.shift_load) from = (const char *)from + bytes;
    buffer *const b = find("load", from, bytes, &offset);
    if (!b) return zero;
    b->seen.loaded += bytes;
    const uintptr_t sector = (uintptr_t)from - offset + offset / SECTOR;
    if (cuda_host_options.count_sectors && sectors.insert(sector).second)
        b->seen.sectors++;
    return from;
}

void *storing(void *to, size_t bytes)
{
    static uint4 junk[2];
    size_t offset;
    if (cuda_host_translate) return cuda_host_translate(to, bytes, 1);
    buffer *const b = find("store", to, bytes, &offset);
    if (!b) return junk;
    b->seen.stored += bytes;
    for (size_t i = offset / b->size; i < (offset + bytes) / b->size; i++)
        if (b->stores[i] < 2) b->stores[i]++;
    return to;
}

} // namespace cuda_host

using namespace cuda_host;

void cuda_host_watch(const void *at, size_t elements, size_t size)
{
    buffers[(uintptr_t)at] =
        buffer{elements * size, size, {}, std::vector<unsigned char>(elements)};
}

void cuda_host_forget(void)
{
    buffers.clear();
}

struct cuda_host_seen cuda_host_watched(const void *at)
{
    buffer &b = buffers.at((uintptr_t)at);
    b.seen.never_stored = (size_t)std::count(b.stores.begin(), b.stores.end(), 0);
    b.seen.stored_twice = (size_t)std::count(b.stores.begin(), b.stores.end(), 2);
    return b.seen;
}

size_t cuda_host_args_size(const char *name)
{
    const kernel *const k = find_kernel(name);
    return k ? k->args_size : 0;
}

int cuda_host_launch(const char *name, const unsigned grid[3], unsigned threads, size_t shared,
                     const void *args, const char **text)
{
    error[0] = '\0';
    loads = 0;
    *text = error;
    const kernel *const k = find_kernel(name);
    if (!k) fail("there is no kernel %s", name);
    if (k && (threads == 0 || threads > k->threads)) fail("%u threads", threads);
    if (shared > SHARED_BYTES) fail("%zu bytes of shared memory", shared);
    if (grid[0] == 0 || grid[0] > 0x7fffffff || grid[1] == 0 || grid[1] > 65535 || grid[2] == 0 ||
        grid[2] > 65535)
        fail("a grid of %u x %u x %u blocks", grid[0], grid[1], grid[2]);
    if (failed()) return -1;
    block_size = {threads, 1, 1};
    grid_size = {grid[0], grid[1], grid[2]};
    char *const past = (char *)cvp_shared + shared;
    ASAN_POISON_MEMORY_REGION(past, SHARED_BYTES - shared);
    bool good = true;
    for (unsigned z = 0; z < grid[2] && good; z++)
        for (unsigned y = 0; y < grid[1] && good; y++)
            for (unsigned x = 0; x < grid[0] && good; x++) {
                block = {x, y, z};
                begin_block();
                memset(cvp_shared, 0xff, shared); // NaN in each type
                good = run_block(k->run, args, threads);
            }
    ASAN_UNPOISON_MEMORY_REGION(past, SHARED_BYTES - shared);
    return good ? 0 : -1;
}
