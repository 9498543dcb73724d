/* A call of an operator: its arguments, checked. Both ways to run an operator, at once and through
 * an instance, go through it. */
#ifndef CVP_CALL_H
#define CVP_CALL_H

#include "convop/registry.h"
#include "src/common/tensor.h"

/* Most inputs, and outputs, that an operator may have; keeps the way to run() free of allocations.
 */
#define CVP_MAX_ARGS 16

struct cvp_call {
    const convop_op *op;
    convop_op_args args;
    convop_request requests[CVP_MAX_ARGS];
    DLTensor
        *outputs[CVP_MAX_ARGS]; /* NULL where the request is: what is there is never looked at */
    unsigned optional_inputs;   /* bit i: inputs[i] may be NULL */
};

/* Checks the numbers of inputs and outputs and the requests (NULL: WRITE for all). params: the
 * operator's typed struct, checked. */
convop_status cvp_call_init(struct cvp_call *call, const convop_op *op, const void *params,
                            int num_inputs, const DLTensor *const *inputs, int num_outputs,
                            DLTensor *const *outputs, const convop_request *requests,
                            const convop_context *context);

/* The same without a check of the numbers, for parameters that may be unchecked. 0: numbers, arrays
 * or requests are not what any operator takes; no text. */
int cvp_call_fill(struct cvp_call *call, const convop_op *op, const void *params, int num_inputs,
                  const DLTensor *const *inputs, int num_outputs, DLTensor *const *outputs,
                  const convop_request *requests, const convop_context *context);

/* The extents of a checked call's tensors, inputs first. */
void cvp_call_extents(const struct cvp_call *call, struct cvp_extent *extents);

/* For tensors that are as they were when the extents were taken, but for their addresses: 1 if
 * these need no further look. 0: cvp_call_check_tensors knows; an output over its input may do. */
int cvp_call_addresses_fit(const struct cvp_call *call, const struct cvp_extent *extents);

/* Checks every tensor, overlaps and devices. */
convop_status cvp_call_check_tensors(const struct cvp_call *call);

/* A tensor's shape and dtype; of NULL, unknown ones. */
void cvp_shape_of(const DLTensor *t, convop_shape *shape, DLDataType *type);

/* Checks every tensor, overlaps and devices, and that shapes and dtypes are those which inference
 * gives. as_query: tensors are descriptions, data may be NULL. */
convop_status cvp_call_check(const struct cvp_call *call, int as_query);

/* 1 if output i takes part. */
static inline int cvp_call_wants(const struct cvp_call *call, int i)
{
    return call->requests[i] != CONVOP_REQ_NULL;
}

/* The workspace of the caller counts from its first 64-byte boundary on. NULL: there is none, and
 * *bytes is what an allocation may have. */
void *cvp_call_workspace(const convop_exec *exec, size_t *bytes);

/* At verbose 1 a call writes one line, but for operators that have an attribute with &cvp_own_lines
 * as its value. */
extern const char cvp_own_lines;
int cvp_call_writes_line(const struct cvp_call *call);
void cvp_call_write_line(const struct cvp_call *call, double ms);

/* op->plan, in the environment that run computes in: it may pack constants. */
convop_status cvp_call_plan(const struct cvp_call *call, void *plan, size_t *workspace_bytes);

/* op->run in its environment, with its line. workspace is as large as the plan says. */
convop_status cvp_call_compute(const struct cvp_call *call, const void *plan, void *workspace);

/* op->run with `bytes` of scratch: the caller's where it suffices, else allocated for the call. */
convop_status cvp_call_run(const struct cvp_call *call, const void *plan, size_t bytes,
                           const convop_exec *exec);

#endif
