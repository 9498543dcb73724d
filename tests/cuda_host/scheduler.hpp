// Between the kernels that are compiled for the host and the scheduler that runs them.
#ifndef CUDA_HOST_SCHEDULER_HPP
#define CUDA_HOST_SCHEDULER_HPP

#include <cstddef>

namespace cuda_host {

struct kernel {
    const char *name;
    unsigned threads; // of a block at most
    size_t args_size;
    void (*run)(const void *args);
};

const kernel *find_kernel(const char *name);

// Runs one block of `threads` threads of body(args) to its end; false: the text of fail() says why.
bool run_block(void (*body)(const void *args), const void *args, unsigned threads);

// Keeps the first sentence; the block goes on, its result does not count.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool failed();

// A new block begins: sectors count anew.
void begin_block();

} // namespace cuda_host

#endif
