/* conv_forward and conv_backward: the typed entries over the common way of all operators. */
#include "src/common/status.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/params.h"
#include "src/operator/operator.h"
#include "src/registry/registry_internal.h"

/* Inputs of _backward_Convolution that may be NULL where their gradient is not asked for. */
#define OPTIONAL_SRC     (1u << 1)
#define OPTIONAL_WEIGHTS (1u << 2)

convop_status cvp_conv_params_read(const convop_conv_params *from, convop_conv_params *to)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    *to = defaults;
    if (!from) return convop_fail(CONVOP_E_INVALID, "Convolution: params is NULL");
    CVP_RETURN_IF_ERROR(cvp_read_struct(to, sizeof *to, from, "convop_conv_params"));
    return cvp_params_check(&cvp_op_Convolution, to);
}

convop_status convop_conv_forward(const convop_conv_params *params, const DLTensor *src,
                                  const DLTensor *weights, const DLTensor *bias, DLTensor *dst,
                                  convop_request request, const convop_exec *exec)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(cvp_conv_params_read(params, &p));
    if (p.no_bias && bias)
        return convop_fail(CONVOP_E_INVALID,
                           "Convolution: a bias was given as input, no_bias is true");
    const DLTensor *const inputs[] = {src, weights, bias};
    return cvp_op_execute(&cvp_op_Convolution, &p, p.no_bias ? 2 : 3, inputs, 0, 1, &dst, &request,
                          exec);
}

convop_status convop_conv_backward(const convop_conv_params *params, const DLTensor *diff_dst,
                                   const DLTensor *src, const DLTensor *weights, DLTensor *diff_src,
                                   DLTensor *diff_weights, DLTensor *diff_bias,
                                   const convop_request requests[3], const convop_exec *exec)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(cvp_conv_params_read(params, &p));
    if (!requests)
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: the array of requests is NULL");
    if (p.no_bias && diff_bias)
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: diff_bias was given, no_bias is true");
    const DLTensor *const inputs[] = {diff_dst, src, weights};
    DLTensor *const outputs[] = {diff_src, diff_weights, diff_bias};
    return cvp_op_execute(&cvp_op__backward_Convolution, &p, 3, inputs,
                          OPTIONAL_SRC | OPTIONAL_WEIGHTS, p.no_bias ? 2 : 3, outputs, requests,
                          exec);
}

/* The short names. Aliases must have the attributes of what they stand for. */
convop_status conv_forward(const convop_conv_params *params, const DLTensor *src,
                           const DLTensor *weights, const DLTensor *bias, DLTensor *dst,
                           convop_request request, const convop_exec *exec)
    __attribute__((alias("convop_conv_forward")));
convop_status conv_backward(const convop_conv_params *params, const DLTensor *diff_dst,
                            const DLTensor *src, const DLTensor *weights, DLTensor *diff_src,
                            DLTensor *diff_weights, DLTensor *diff_bias,
                            const convop_request requests[3], const convop_exec *exec)
    __attribute__((alias("convop_conv_backward")));
