/* What all operators share: the way from a caller's tensors to a descriptor's plan and run. */
#ifndef CVP_OPERATOR_H
#define CVP_OPERATOR_H

#include "convop/registry.h"

/* Checks everything that convop_op promises to plan() and run(), then plans and runs.
 * params: the operator's typed struct, already checked by op->check.
 * requests NULL: WRITE for all. An entry of inputs or outputs may be NULL where noted:
 * outputs whose request is NULL; inputs that `optional_inputs` has a bit for. */
convop_status cvp_op_execute(const convop_op *op, const void *params, int num_inputs,
                             const DLTensor *const *inputs, unsigned optional_inputs,
                             int num_outputs, DLTensor *const *outputs,
                             const convop_request *requests, const convop_exec *exec);

#endif
