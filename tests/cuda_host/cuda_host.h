/* Runs the CUDA kernels of convop on the host, from their unchanged source: what tests call.
 *
 * Each thread of a block is a coroutine, so that a barrier and a shuffle really wait; the threads
 * of a block run one after another up to the next barrier, in an order that a test chooses:
 * forward, backward or shuffled. So a missing barrier gives a wrong result in one of the orders.
 * Shared memory is filled with junk before each block, and what lies past the launch's is poisoned
 * under ASan. Every access to a tensor is checked: inside of a watched buffer, and aligned. One
 * thread only. */
#ifndef CUDA_HOST_H
#define CUDA_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cuda_host_order { CUDA_HOST_FORWARD, CUDA_HOST_BACKWARD, CUDA_HOST_SHUFFLED };

struct cuda_host_options {
    enum cuda_host_order order;
    uint64_t seed;    /* of the shuffle */
    int skip_barrier; /* from 1: a thread's n-th barrier of a launch is left out, on purpose */
    int shift_load;   /* from 1: so many loads in, a load takes the element that follows, on purpose
                       */
    int count_sectors; /* see cuda_host_seen */
};
extern struct cuda_host_options cuda_host_options;

/* A buffer that kernels may touch; `elements` of `size` bytes. Until cuda_host_forget. */
void cuda_host_watch(const void *buffer, size_t elements, size_t size);
void cuda_host_forget(void);

/* What kernels did to a watched buffer since it is watched. */
struct cuda_host_seen {
    uint64_t loaded, stored;           /* bytes */
    uint64_t sectors;                  /* of 32 bytes from its begin, each counted once a block */
    size_t never_stored, stored_twice; /* elements */
};
struct cuda_host_seen cuda_host_watched(const void *buffer);

/* If not NULL: says where a kernel's address is, and is asked instead of looking through the
 * buffers that are watched. For tests/standin, which knows its memory. */
extern void *(*cuda_host_translate)(const void *address, size_t bytes, int writes);

/* Bytes of a kernel's arguments; 0: there is none of that name. */
size_t cuda_host_args_size(const char *kernel);

/* Runs a launch to its end. args: the kernel's struct. 0, or -1 and *error says what was wrong: no
 * such kernel, too many threads, a barrier that not all threads reach, an address that is none. */
int cuda_host_launch(const char *kernel, const unsigned grid[3], unsigned threads, size_t shared,
                     const void *args, const char **error);

#ifdef __cplusplus
}
#endif

#endif
