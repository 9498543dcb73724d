/* Operator instances: an operator prepared for many runs.
 *
 *     create    parameters, and inputs that stay the same (weights)
 *     reshape   shapes in; output shapes and the size of the workspace out; weights packed
 *     run       tensors in and out
 *
 * create and reshape may allocate; run does not, if it is given a workspace. Since 0.1. */
#ifndef CONVOP_INSTANCE_H
#define CONVOP_INSTANCE_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Immutable while it runs: any number of threads may run one instance at once. create, reshape and
 *  destroy are for one thread at a time, with no run going on. */
typedef struct convop_instance convop_instance;

/** Makes an instance of the operator of that name, from parameters as text.
 *  @param context    kept until destroy; NULL is the process default
 *  @param constants  one entry for each input, NULL where the input comes with each run; the memory
 *                    is kept and must stay as it is until destroy. NULL: there are none
 *  @param out        owned by the caller; NULL on failure
 *  @return NOT_FOUND, INVALID, NO_MEMORY */
CONVOP_API convop_status convop_instance_create(const char *name, size_t num_params,
                                                const char *const *keys, const char *const *values,
                                                int num_inputs, const DLTensor *const *constants,
                                                const convop_context *context,
                                                convop_instance **out);

/** The same from the operator's typed struct (convop_conv_params, ...), borrowed for the call. */
CONVOP_API convop_status convop_instance_create_typed(const char *name, const void *params,
                                                      int num_inputs,
                                                      const DLTensor *const *constants,
                                                      const convop_context *context,
                                                      convop_instance **out);

/** Prepares for shapes, strides, dtypes and requests. Constants are packed anew, unless these, with
 *  outputs given, are those of the last call: then nothing is done, whatever settings or
 *  implementations have changed meanwhile.
 *  @param inputs    entries of constants are ignored; data is not read and may be NULL
 *  @param outputs   what they will be; NULL, or NULL entries: compact, of the shapes that follow
 *  @param requests  one for each output, for all runs; NULL: WRITE
 *  @param workspace_limit  bytes that a run may take at most, its alignment (63 bytes) not counted;
 *                          the operator's own limit counts too
 *  @param workspace_bytes  what a run takes if it is to allocate nothing; may be NULL
 *  @return as convop_invoke; on failure the instance cannot run until a reshape succeeds */
CONVOP_API convop_status convop_instance_reshape(convop_instance *instance,
                                                 const DLTensor *const *inputs,
                                                 DLTensor *const *outputs,
                                                 const convop_request *requests,
                                                 size_t workspace_limit, size_t *workspace_bytes);

/** Shape and dtype of an output, after reshape. @return STATE before it, INVALID for a bad index */
CONVOP_API convop_status convop_instance_output(const convop_instance *instance, int index,
                                                convop_shape *shape, DLDataType *dtype);

/** Runs it.
 *  @param inputs   as in reshape but for their addresses; entries of constants are ignored
 *  @param outputs  likewise; they overlap nothing
 *  @param exec     stream and workspace; its context is ignored. A workspace that is smaller than
 *                  what reshape said need not be used; memory is then allocated for the call
 *  @return STATE before reshape, INVALID for a tensor that differs from reshape's, NO_MEMORY */
CONVOP_API convop_status convop_instance_run(const convop_instance *instance,
                                             const DLTensor *const *inputs,
                                             DLTensor *const *outputs, const convop_exec *exec);

/** Frees *instance and sets it to NULL. Accepts NULL. */
CONVOP_API void convop_instance_destroy(convop_instance **instance);

#ifdef __cplusplus
}
#endif

#endif
