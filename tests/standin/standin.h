/* A stand-in for the CUDA driver and cuDNN, for tests on machines without a GPU: one library with
 * the functions of both, which convop opens through its settings cuda_library and cudnn_library.
 *
 * Two devices. Their memory is kept apart: an address of a device is one that the host cannot
 * touch. Streams run in order on threads of their own. cuDNN's plans come from the cuDNN of the
 * machine, or, where there is none, from a small planner here; they are computed with float64
 * loops. The time of events is what the work is said to take, never measured.
 *
 * Misuse ends the process with a sentence on stderr and the exit code STANDIN_MISUSE: memory of the
 * host, of another context, freed or too short; work on two streams that touches the same memory
 * with no order between it (a range from the first to the last byte counts as touched); a context
 * that is not current; a handle or descriptor that is none; what a capture forbids; and whatever is
 * left at exit (with STANDIN_OF_A_PROGRAM in the environment not what convop keeps for a process).
 * Any n-th call can be made to fail. STANDIN_SPOILS in the environment makes the first element of
 * what a plan computes wrong.
 *
 * A program that knows nothing of it gets it by the settings, with STANDIN_OF_A_PROGRAM; what a
 * test says by calls are then STANDIN_PLANS_HERE and STANDIN_KERNELS, the path of a library with a
 * struct standin_kernels of that name.
 *
 * A test opens it with standin_open() of open.h, never by linking: its symbols must not take the
 * place of those that the real cuDNN calls. */
#ifndef TEST_STANDIN_H
#define TEST_STANDIN_H

#include <stddef.h>

#define STANDIN_MISUSE  86
#define STANDIN_DEVICES 2

/* Things that are made and ended. */
enum standin_kind {
    STANDIN_MEMORY,
    STANDIN_HOST_MEMORY,
    STANDIN_STREAM,
    STANDIN_EVENT,
    STANDIN_MODULE,
    STANDIN_FUNCTION, /* goes with its module */
    STANDIN_GRAPH,
    STANDIN_GRAPH_EXEC,
    STANDIN_CONTEXT,
    STANDIN_PRIMARY, /* references to primary contexts */
    STANDIN_CURRENT, /* contexts that were pushed and not popped */
    STANDIN_HANDLE,
    STANDIN_DESCRIPTOR,
    STANDIN_KINDS
};

struct CUctx_st;

/* Runs kernels on the host (tests/cuda_host). */
struct standin_kernels {
    size_t (*args_size)(const char *kernel); /* 0: there is none of that name */
    int (*launch)(const char *kernel, const unsigned grid[3], unsigned threads, size_t shared,
                  const void *args, const char **error);
    /* Where the kernels' addresses are translated. */
    void *(**translate)(const void *address, size_t bytes, int writes);
};

struct standin {
    /* Calls of a function so far; of NULL, of all that can fail. What else can be counted:
     * "heuristics" and "plans", those that were finalised. */
    long (*calls)(const char *symbol);
    /* The n-th call from now on fails, of that function or (NULL) of all; 0: none does. A call
     * that ends or frees does so all the same. */
    void (*fail_nth)(const char *symbol, long n, unsigned driver_result, unsigned cudnn_status);
    /* Each call of that function takes so long, with no lock held; NULL: none does. */
    void (*delay)(const char *symbol, int ms);

    long (*live)(enum standin_kind kind);
    /* What is left of that kind at exit is no misuse. */
    void (*keeps)(enum standin_kind kind);

    void (*limit_memory)(int device, size_t bytes);
    struct CUctx_st *(*context_create)(int device); /* not made current */
    /* The next one that is created gets the address of this one, which was ended. */
    void (*context_reuse)(struct CUctx_st *context);
    void (*context_destroy)(struct CUctx_st *context);

    /* Copies for the test itself, when all streams have come to rest; counted nowhere. */
    void (*write)(unsigned long long to, const void *from, size_t bytes);
    void (*read)(void *to, unsigned long long from, size_t bytes);

    /* Before the first call of cuDNN: 1 plans here, even where there is a real cuDNN. */
    void (*plan_here)(int yes);
    int (*has_real_cudnn)(void);
    /* What executing a plan of an engine takes; 1 ms unless told. */
    void (*engine_takes)(int engine, double ms);
    /* More workspace of each engine of the planner here: bytes. */
    void (*engines_need)(size_t bytes);
    /* What a launch takes, by its kernel and threads; NULL: 0.1 ms. */
    void (*launches_take)(double (*ms)(const char *kernel, unsigned threads));
    void (*set_kernels)(const struct standin_kernels *kernels);
};

#endif
