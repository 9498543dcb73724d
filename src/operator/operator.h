/* What all operators share: the way from a caller's tensors to a descriptor's plan and run. */
#ifndef CVP_OPERATOR_H
#define CVP_OPERATOR_H

#include "convop/registry.h"
#include "src/operator/memo.h"

/* A call as it came in.
 * requests NULL: WRITE for all. An entry of inputs or outputs may be NULL where noted:
 * outputs whose request is NULL; inputs that `optional_inputs` has a bit for. */
struct cvp_invocation {
    const convop_op *op;
    const void *params; /* the operator's typed struct */
    int num_inputs;
    const DLTensor *const *inputs;
    unsigned optional_inputs;
    int num_outputs;
    DLTensor *const *outputs;
    const convop_request *requests;
    const convop_exec *exec;
};

/* 1: a call like it was made before; it ran with that call's plan, *status is the result. params
 * need not be checked: those of the plan were, and are in the key.
 * 0: nothing happened. The key, which holds the parameters, is complete now, for cvp_op_execute. */
int cvp_op_rerun(const struct cvp_invocation *v, struct cvp_memo_key *key, convop_status *status);

/* Checks everything that convop_op promises to plan() and run(), then plans and runs, and keeps the
 * plan under the key. params: checked by op->check. */
convop_status cvp_op_execute(const struct cvp_invocation *v, const struct cvp_memo_key *key);

#endif
