/* Where the tensors of a call are: on the CPU, or on a GPU for the operators that run there. */
#ifndef CVP_OPERATOR_DEVICE_H
#define CVP_OPERATOR_DEVICE_H

#include "src/cuda/context.h"
#include "src/operator/call.h"

/* The value of the attribute "gpu" of an operator that takes tensors on a GPU. Its run() finds the
 * workspace on that GPU too, or NULL where there was no memory for it. */
extern const char cvp_runs_on_gpu;

static inline int cvp_is_on_gpu(const DLTensor *t)
{
    return t->device.device_type == kDLCUDA;
}

/* cvp_tensor_check, and that the GPU is here and the operator runs on it: nothing of a tensor on an
 * absent one is touched. */
convop_status cvp_op_check_tensor(const convop_op *op, const char *name, const DLTensor *t,
                                  enum cvp_role role);

/* The GPU of a checked call's tensors; NULL: they are on the CPU. */
const struct cvp_gpu *cvp_call_gpu(const struct cvp_call *call);

#endif
