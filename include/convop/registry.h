/* The operator registry: descriptors, attributes, parameters, inference, introspection, invoke.
 *
 * An operator is a const descriptor. Built-in ones are named by CONVOP_OP and listed once inside
 * the library; a program's own are handed to convop_op_register(), at any time. Between equal names
 * the higher level counts (built-ins have 10; equal levels are an error), and unregistering brings
 * back what was there before.
 *
 * Threads: every function here may be called from any thread. Callbacks run with no lock held. */
#ifndef CONVOP_REGISTRY_H
#define CONVOP_REGISTRY_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/params.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONVOP_LEVEL_BUILTIN 10

/** A shape that may be partial. ndim -1: unknown rank; a dim of -1: unknown size; 0 is a size. */
typedef struct convop_shape {
    int ndim;
    int64_t dim[CONVOP_MAX_DIMS];
} convop_shape;

/** An input or an output. */
typedef struct convop_arg {
    const char *name;
    const char *doc;
} convop_arg;

/** Where an input of a gradient operator comes from: of the operator whose gradient it is, the
 *  gradient by an output, an input or an output. */
typedef enum convop_gradient_source {
    CONVOP_GRADIENT_BY_OUTPUT = 0,
    CONVOP_GRADIENT_INPUT = 1,
    CONVOP_GRADIENT_OUTPUT = 2
} convop_gradient_source;

typedef struct convop_gradient_input {
    convop_gradient_source source;
    int index;
} convop_gradient_input;

/** The value of the attribute "gradient", type "convop_gradient": the operator that computes the
 *  gradients, with the same parameters. Its output i is the gradient by input of[i]. An input of
 * the operator that has none (a label, a running mean) is not among them. Sources that parameters
 *  leave out (a bias) are left out of both lists. */
typedef struct convop_gradient {
    size_t struct_size;
    const char *op;
    const convop_gradient_input *inputs;
    int num_inputs;
    const int *of;
    int num_of;
} convop_gradient;

/** The value of the attribute "visible", type "convop_visible": how many outputs a user of a graph
 *  sees with these parameters, the first ones; the others are for the gradient. Without it, all. */
typedef struct convop_visible {
    size_t struct_size;
    int (*num_outputs)(const void *params);
} convop_visible;

/** An output that may be written over an input (CONVOP_REQ_INPLACE): the same elements in the same
 *  places, so of one dtype and with equal strides, or both compact and of one size (Flatten). */
typedef struct convop_inplace {
    int input, output;
} convop_inplace;

/** A named, typed attribute, for what the core does not know about an operator. */
typedef struct convop_attr {
    size_t struct_size;
    const char *key;
    const char *type;
    const void *value; /* outlives the registration */
} convop_attr;

/** What a call of an operator gets. Tensors and arrays are borrowed for the call. */
typedef struct convop_op_args {
    size_t struct_size;
    const void *params; /* the operator's typed struct, checked */
    int num_inputs, num_outputs;
    const DLTensor *const *inputs;
    DLTensor *const *outputs;       /* NULL entries where the request is NULL */
    const convop_request *requests; /* one for each output */
    const convop_context *context;  /* NULL: the process default */
    void *stream;
    size_t workspace_limit; /* bytes that plan() may ask for at most */
    unsigned constants;     /* bit i: input i stays the same until end(), and plan() may read it */
    int is_train;           /* as in convop_exec */
} convop_op_args;

/** The descriptor. Const, outlives its registration. Functions return a status and, on failure,
 *  leave a sentence with convop_fail(); outputs are then as they were. Any doc may be NULL.
 *
 *  The core has checked before plan() and run(): number of inputs and outputs, every tensor (rank,
 *  shape, strides, device, alignment, overlap of an output with anything), and that shapes and
 *  dtypes are those which infer_shape and infer_type give. */
typedef struct convop_op {
    size_t struct_size;
    const char *name;
    const char *doc;
    int level; /* 1 or more */

    /* Parameters: a typed struct that begins with size_t struct_size. */
    size_t params_size;
    const convop_field *fields;
    size_t num_fields;
    /* Checks fields against each other. NULL: nothing to check. */
    convop_status (*check)(const void *params);

    const convop_arg *inputs, *outputs;
    int max_inputs, max_outputs;
    /* How many of them these parameters use. NULL: all. */
    int (*num_inputs)(const void *params);
    int (*num_outputs)(const void *params);

    /* Fill what follows from what is known, both ways; a contradiction is INVALID.
     * Unknown dtypes have bits == 0. infer_type NULL: all dtypes are equal. */
    convop_status (*infer_shape)(const void *params, int num_inputs, convop_shape *inputs,
                                 int num_outputs, convop_shape *outputs);
    convop_status (*infer_type)(const void *params, int num_inputs, DLDataType *inputs,
                                int num_outputs, DLDataType *outputs);

    /* Decides for these shapes, strides, dtypes and requests; reads no element but of constants,
     * and keeps nothing on failure. Fills plan (plan_size bytes, zeroed, 16-byte aligned) and the
     * scratch that run() needs. A plan of an instance serves many runs, with other addresses each
     * time. */
    size_t plan_size;
    convop_status (*plan)(const convop_op_args *args, void *plan, size_t *workspace_bytes);
    /* Computes. The plan is read only, so one plan may run in many threads; workspace is 64-byte
     * aligned. */
    convop_status (*run)(const convop_op_args *args, const void *plan, void *workspace);
    /* Gives back what plan() took; called once for each plan that was made. NULL: nothing. */
    void (*end)(void *plan);

    const convop_attr *attrs;
    size_t num_attrs;

    /* Bit i: run() also writes input i (running statistics, a momentum). Such an input is checked
     * as an output is. */
    unsigned mutated_inputs;
    const convop_inplace *inplace;
    size_t num_inplace;
} convop_op;

/** Names a built-in's descriptor: CONVOP_OP(Convolution) = { ... }; */
#define CONVOP_OP(name) const convop_op cvp_op_##name

/** Sets this thread's error text (printf) and returns status, for `return convop_fail(...)`. */
CONVOP_API convop_status convop_fail(convop_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((cold, format(printf, 2, 3)))
#endif
    ;

/* ---- registration ------------------------------------------------------------------------- */

/** Adds an operator. The descriptor is kept until it is unregistered and no reference is left.
 *  @return INVALID if the descriptor is incomplete (the text names the member) or has an attribute
 *          whose key is in use with another type; STATE if the name, or an attribute of the name,
 *          is taken at this level, or if it was unregistered and is still referenced; NO_MEMORY */
CONVOP_API convop_status convop_op_register(const convop_op *op);

/** Takes it back: it is found no more. released(user) is called once, when the last reference to
 *  it is dropped, possibly before this returns; then the descriptor may go. released may be NULL.
 *  @return NOT_FOUND if it is not registered, STATE for a built-in */
CONVOP_API convop_status convop_op_unregister(const convop_op *op, void (*released)(void *user),
                                              void *user);

/** Attaches an attribute to the operator of that name, as from now: to the name, so that it stays
 *  when operators of that name come and go, until it is detached. attr is copied, its value is not.
 *  @return NOT_FOUND (no such operator), STATE (key taken at this level), INVALID (the key is in
 *          use with another type, a level below 1), NO_MEMORY */
CONVOP_API convop_status convop_attr_register(const char *op_name, const convop_attr *attr,
                                              int level);

/** Detaches it. @return NOT_FOUND */
CONVOP_API convop_status convop_attr_unregister(const char *op_name, const char *key, int level);

/* ---- look-up ------------------------------------------------------------------------------ */

/** Finds an operator and takes a reference to it, to be dropped by convop_op_release().
 *  @return NOT_FOUND; the text names the nearest name. *op is then NULL */
CONVOP_API convop_status convop_op_find(const char *name, const convop_op **op);

/** Drops a reference and sets *op to NULL. Accepts NULL. */
CONVOP_API void convop_op_release(const convop_op **op);

/** The value of the attribute at the highest level.
 *  @return NOT_FOUND, INVALID if its type is another (the text names both) */
CONVOP_API convop_status convop_op_attr(const convop_op *op, const char *key, const char *type,
                                        const void **value);

/** A snapshot of the operators that are found by name, in alphabetical order. It holds references.
 */
typedef struct convop_op_listing convop_op_listing;
CONVOP_API convop_status convop_op_list(convop_op_listing **out);
CONVOP_API size_t convop_op_listing_count(const convop_op_listing *listing);
CONVOP_API const convop_op *convop_op_listing_at(const convop_op_listing *listing, size_t index);
CONVOP_API void convop_op_listing_destroy(convop_op_listing **listing);

/* ---- parameters and inference -------------------------------------------------------------- */

/** Fills the typed struct: defaults first, then n key/value pairs, then the operator's check.
 *  Keys of the form __name__ are ignored, as MXNet's attributes of nodes are.
 *  @param params       params_size bytes, at least the operator's; untouched on failure
 *  @return INVALID; the text names the key, the text given and what would be allowed */
CONVOP_API convop_status convop_params_parse(const convop_op *op, size_t n, const char *const *keys,
                                             const char *const *values, void *params,
                                             size_t params_size);

/** Writes a field's value as text that convop_params_parse reads back to the same value. Of a field
 *  with two places it is the first one's: text gives both the same value.
 *  @return the length without the final 0, as snprintf: at or above size means cut off */
CONVOP_API size_t convop_params_format(const convop_field *field, const void *params, char *text,
                                       size_t size);

/** Completes shapes and dtypes. Arrays hold what is known and are untouched on failure. Shapes that
 *  stay unknown are no error; see convop_shape_is_known().
 *  @param types_in, types_out  both NULL: shapes only
 *  @return INVALID for parameters out of their limits, a wrong number of arguments, a malformed
 *          shape or a contradiction; the text names the argument, both shapes and the rule.
 *          INTERNAL if the operator answers with a malformed shape. NO_MEMORY */
CONVOP_API convop_status convop_infer(const convop_op *op, const void *params, int num_inputs,
                                      convop_shape *inputs, int num_outputs, convop_shape *outputs,
                                      DLDataType *types_in, DLDataType *types_out);

/** 1 if the rank and every size are known. */
CONVOP_API int convop_shape_is_known(const convop_shape *shape);

/* ---- invoke -------------------------------------------------------------------------------- */

/** Runs an operator by name.
 *  @param keys, values  num_params parameters as text
 *  @param requests      one for each output; NULL: WRITE for all
 *  @param exec          NULL: all defaults
 *  @return NOT_FOUND, INVALID, UNSUPPORTED, NO_MEMORY, DEVICE: outputs as they were */
CONVOP_API convop_status convop_invoke(const char *name, size_t num_params, const char *const *keys,
                                       const char *const *values, int num_inputs,
                                       const DLTensor *const *inputs, int num_outputs,
                                       DLTensor *const *outputs, const convop_request *requests,
                                       const convop_exec *exec);

#ifdef __cplusplus
}
#endif

#endif
