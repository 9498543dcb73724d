// The threads of a block as coroutines. One is entered once, on a stack of its own, and then serves a
// thread of each block; between threads control jumps: swapcontext would ask the system each time, and
// so does longjmp with ASan, which takes it for the end of what is on the stack.
#include "tests/cuda_host/scheduler.hpp"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/cuda_host/cuda_host.h"
#include "tests/cuda_host/language.hpp"
#include "tests/support/rng.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cuda_host {

uint3 thread, block, block_size, grid_size;

namespace {

constexpr size_t STACK = 128 << 10;
constexpr unsigned WARP = 32;

enum class state { ready, at_barrier, at_exchange, done };

// What __builtin_setjmp fills. Nobody may know which registers a function keeps that jumps elsewhere.
struct place {
    void *words[5];
};
#define JUMPS __attribute__((noipa, no_sanitize("address")))

struct coroutine {
    ucontext_t context; // to enter it
    place here;         // to go on
    bool entered = false;
    std::unique_ptr<char[]> stack{new char[STACK]};
    state at;
    void *fake = nullptr; // ASan's
    uint64_t value;  // brought to an exchange
    int barriers;    // met so far
};

std::vector<std::unique_ptr<coroutine>> pool; // stacks are kept from block to block
place scheduler;
unsigned current, count;
void (*body)(const void *);
const void *body_args;

// ASan is told of each change of stacks.
struct stack_of_scheduler {
    const void *bottom;
    size_t size;
    void *fake;
} home;

void switch_to(void **fake, const void *bottom, size_t size)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fake, bottom, size);
#else
    (void)fake, (void)bottom, (void)size;
#endif
}

void switched(void *fake, const void **bottom, size_t *size)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, bottom, size);
#else
    (void)fake, (void)bottom, (void)size;
#endif
}

// Not in a function that sets a place, which GCC would take to jump within itself.
[[noreturn]] JUMPS void jump(place &to)
{
    __builtin_longjmp(to.words, 1);
}

// Back to the scheduler, until it picks this thread again.
JUMPS void leave(state why)
{
    coroutine &c = *pool[current];
    c.at = why;
    switch_to(&c.fake, home.bottom, home.size);
    if (!__builtin_setjmp(c.here.words)) jump(scheduler);
    switched(pool[current]->fake, &home.bottom, &home.size);
}

void serve()
{
    switched(nullptr, &home.bottom, &home.size);
    for (;;) {
        body(body_args);
        leave(state::done);
    }
}

JUMPS void resume(unsigned i)
{
    coroutine &c = *pool[i];
    current = i;
    thread = {i, 0, 0};
    switch_to(&home.fake, c.stack.get(), STACK);
    if (!__builtin_setjmp(scheduler.words)) {
        if (c.entered) jump(c.here);
        c.entered = true;
        getcontext(&c.context);
        c.context.uc_stack.ss_sp = c.stack.get();
        c.context.uc_stack.ss_size = STACK;
        makecontext(&c.context, serve, 0);
        setcontext(&c.context);
    }
    switched(home.fake, nullptr, nullptr);
}

// A warp whose threads all wait at an exchange goes on; false: not all do.
bool release_exchange(unsigned begin, unsigned end)
{
    for (unsigned i = begin; i < end; i++)
        if (pool[i]->at != state::at_exchange) return false;
    for (unsigned i = begin; i < end; i++) pool[i]->at = state::ready;
    return true;
}

unsigned count_at(state s)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) n += pool[i]->at == s;
    return n;
}

std::vector<unsigned> make_order(unsigned n, rng &r)
{
    std::vector<unsigned> order(n);
    for (unsigned i = 0; i < n; i++) order[i] = i;
    if (cuda_host_options.order == CUDA_HOST_BACKWARD) std::reverse(order.begin(), order.end());
    if (cuda_host_options.order == CUDA_HOST_SHUFFLED)
        for (unsigned i = n - 1; i > 0; i--) std::swap(order[i], order[(size_t)rng_int(&r, 0, i)]);
    return order;
}

// A warp as far as it gets before it needs the others.
void run_warp(unsigned begin, unsigned end, rng &r)
{
    do {
        for (unsigned lane : make_order(end - begin, r))
            if (pool[begin + lane]->at == state::ready) resume(begin + lane);
    } while (release_exchange(begin, end));
}

} // namespace

void barrier()
{
    if (++pool[current]->barriers == cuda_host_options.skip_barrier) return;
    leave(state::at_barrier);
}

uint64_t exchange(uint64_t value, int mask)
{
    const unsigned me = current;
    pool[me]->value = value;
    leave(state::at_exchange);
    const uint64_t other = pool[me ^ (unsigned)mask]->value;
    leave(state::at_exchange); // nobody brings a new value before all have read
    return other;
}

bool run_block(void (*run)(const void *args), const void *args, unsigned threads)
{
    body = run, body_args = args, count = threads;
    while (pool.size() < threads) pool.emplace_back(new coroutine);
    for (unsigned i = 0; i < threads; i++) pool[i]->at = state::ready, pool[i]->barriers = 0;
    rng r = {cuda_host_options.seed};
    for (;;) {
        for (unsigned w : make_order((threads + WARP - 1) / WARP, r))
            run_warp(w * WARP, std::min((w + 1) * WARP, threads), r);
        const unsigned waiting = count_at(state::at_barrier), done = count_at(state::done);
        if (done == threads) return !failed();
        if (waiting < threads) {
            fail("%u of %u threads wait at a barrier or a shuffle that %u never reach",
                 threads - done, threads, done);
            pool.clear(); // they hang in the middle
            return false;
        }
        for (unsigned i = 0; i < threads; i++) pool[i]->at = state::ready;
    }
}

} // namespace cuda_host
