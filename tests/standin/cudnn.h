/* What the files of the stand-in's cuDNN share: descriptors, and the graph that they describe. */
#ifndef TEST_STANDIN_CUDNN_H
#define TEST_STANDIN_CUDNN_H

#include "src/cuda/cudnn.h"
#include "tests/standin/state.h"

struct cudnnContext {
    struct CUctx_st *context;
    unsigned long long context_id;
    struct CUstream_st *stream;
    int is_busy; /* a thread is in a call with it */
};

/* ---- graph.c --------------------------------------------------------------------------------- */

#define MOST_TENSORS 8
#define MOST_OPS     4
#define MOST_AXES    5
#define GRAPH_TEXT   2048

struct graph_tensor {
    int64_t uid, type, axes, is_virtual, alignment, size[MOST_AXES], stride[MOST_AXES];
};

/* A convolution of a direction: src, weights, dst; or a pointwise one: x, b (-1: none), y. */
struct graph_op {
    int64_t kind, tensors[3], axes, pad[3], step[3], dilation[3], mode;
    double alpha, beta, low, high;
};

struct graph {
    int64_t num_tensors, num_ops;
    struct graph_tensor tensors[MOST_TENSORS];
    struct graph_op ops[MOST_OPS];
};

struct descriptor;

/* Of a descriptor of operations; 0: it is none that can be executed here. */
int standin_graph_read(struct graph *graph, const struct descriptor *operations);
/* As text, which a plan takes along, and back: 0 if it is none. */
void standin_graph_write(const struct graph *graph, char text[GRAPH_TEXT]);
int standin_graph_parse(struct graph *graph, const char *text);
/* The tensor that an op writes. */
int64_t standin_graph_output(const struct graph_op *op);

/* ---- descriptor.c ---------------------------------------------------------------------------- */

struct attribute {
    struct attribute *next;
    unsigned name, type;
    int64_t count;
    void *values;
};

struct descriptor {
    unsigned type;
    int refs, is_final;
    struct attribute *attributes;
    struct descriptor *origin; /* it was read from that */
    void *real;                /* of the real cuDNN */
    int engine;                /* of the planner here */
    int device;                /* of properties and plans; -1: not known */
    /* Of a plan: */
    struct graph graph;
    int64_t workspace;
    char *json;
};

size_t standin_type_size(unsigned type);
const struct attribute *standin_attribute(const struct descriptor *d, unsigned name);
/* One value; `fallback` where it is not set. */
int64_t standin_int(const struct descriptor *d, unsigned name, int64_t fallback);
double standin_number(const struct descriptor *d, unsigned name, double fallback);
struct descriptor *standin_child(const struct descriptor *d, unsigned name, int64_t i);
struct descriptor *standin_descriptor(void *handle); /* misuse if it is none */
/* Where the operations of a plan, a configuration, ... are from; NULL if that is not known. */
const struct descriptor *standin_operations(const struct descriptor *d);
void standin_set_origin(struct descriptor *d, struct descriptor *origin);

/* ---- planner.c, real.c: two ways to plan; each answers with a status ------------------------- */

struct planner {
    size_t (*version)(void);
    unsigned (*create)(struct descriptor *d);
    void (*destroy)(struct descriptor *d);
    unsigned (*set)(struct descriptor *d, unsigned name, unsigned type, int64_t count,
                    const void *values);
    /* Of a plan: with its workspace and its JSON, to be freed. */
    unsigned (*finalize)(struct descriptor *d);
    unsigned (*get)(struct descriptor *d, unsigned name, unsigned type, int64_t wanted,
                    int64_t *count, void *values);
    void (*last_error)(char *text, size_t size);
};
extern const struct planner standin_planner_here;
/* NULL: there is no cuDNN on this machine. */
const struct planner *standin_planner_real(void);
const struct planner *standin_planner(void);

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* The properties of a device as cuDNN's JSON. */
const char *standin_properties(int device);
/* The device that an attribute names; -1: none. */
int standin_device_of(unsigned name, unsigned type, const void *values);
/* The planner's part of a plan's JSON, to be freed; NULL: it is not from here. */
char *standin_plan_json(const char *with_graph, int64_t count);
unsigned standin_finalize_plan(struct descriptor *plan);
/* What an engine takes, in ms. */
double standin_time(int engine);

/* ---- execute.c ------------------------------------------------------------------------------- */

/* Work that computes a plan, from a pack whose tensors are all there. */
struct work *standin_execution(const struct descriptor *plan, const struct descriptor *pack);

#pragma GCC visibility push(default)
#define CVP_CUDNN(member, symbol, result, parameters) result symbol parameters;
#include "src/cuda/cudnn_list.h"
#undef CVP_CUDNN
#pragma GCC visibility pop

#endif
