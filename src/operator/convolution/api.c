/* conv_forward and conv_backward: the typed entries over the common way of all operators. */
#include "src/common/status.h"
#include "src/operator/convolution/convolution.h"
#include "src/operator/convolution/params.h"
#include "src/operator/operator.h"
#include "src/registry/registry_internal.h"

/* Inputs of _backward_Convolution that may be NULL where their gradient is not asked for. */
#define OPTIONAL_SRC     (1u << 1)
#define OPTIONAL_WEIGHTS (1u << 2)

static convop_status read_params(const convop_conv_params *from, convop_conv_params *to)
{
    const convop_conv_params defaults = CONVOP_CONV_PARAMS_INIT;
    *to = defaults;
    if (!from) return convop_fail(CONVOP_E_INVALID, "Convolution: params is NULL");
    return cvp_read_struct(to, sizeof *to, from, "convop_conv_params");
}

convop_status cvp_conv_params_read(const convop_conv_params *from, convop_conv_params *to)
{
    CVP_RETURN_IF_ERROR(read_params(from, to));
    return cvp_params_check(to->activation ? &cvp_op_FusedConvolution : &cvp_op_Convolution, to);
}

/* Lengths and flags of parameters that are right are small; what is not small has no key. */
static uint64_t byte_of(struct cvp_memo_key *key, int value)
{
    key->is_bad |= (unsigned)value > 255;
    return (uint64_t)value & 255;
}

/* As many entries as there are axes at most; what lies behind the length does not count. */
static void add_tuple(struct cvp_memo_key *key, const convop_tuple *t)
{
    key->is_bad |= (unsigned)t->len > CONV_MAX_AXES;
    for (int i = 0; i < CONV_MAX_AXES; i++)
        cvp_memo_key_add(key, i < t->len ? (uint64_t)t->at[i] : 0);
}

/* The parameters in a few words: less to look at than in the struct, and no padding. The first word
 * is none of a struct that begins with its size. */
static void begin_key(struct cvp_memo_key *key, const convop_op *op, const convop_conv_params *p)
{
    cvp_memo_key_begin(key, op);
    const convop_tuple *const tuples[] = {&p->kernel, &p->stride, &p->dilate, &p->pad_begin,
                                          &p->pad_end};
    const int small[] = {p->no_bias, p->cudnn_tune, p->cudnn_off, p->depthwise_conv_off,
                         p->layout,  p->activation};
    uint64_t lengths = 1, flags = 0;
    for (int i = 0; i < 5; i++) lengths = lengths << 8 | byte_of(key, tuples[i]->len);
    for (int i = 0; i < 6; i++) flags = flags << 8 | byte_of(key, small[i]);
    cvp_memo_key_add(key, lengths);
    cvp_memo_key_add(key, flags);
    cvp_memo_key_add(key, (uint64_t)p->num_filter);
    cvp_memo_key_add(key, (uint64_t)p->num_group);
    cvp_memo_key_add(key, p->workspace_bytes);
    for (int i = 0; i < 5; i++) add_tuple(key, tuples[i]);
}

/* Forward, of an operator that has these inputs before the bias. */
static convop_status forward(const convop_op *op, const convop_conv_params *p, int num_inputs,
                             const DLTensor *const *inputs, const DLTensor *bias, DLTensor *dst,
                             convop_request request, const convop_exec *exec)
{
    struct cvp_memo_key key;
    convop_status status;
    const struct cvp_invocation v = {.op = op,
                                     .params = p,
                                     .num_inputs = num_inputs + !p->no_bias,
                                     .inputs = inputs,
                                     .num_outputs = 1,
                                     .outputs = &dst,
                                     .requests = &request,
                                     .exec = exec};
    begin_key(&key, op, p);
    key.is_bad |= p->no_bias && bias;
    if (cvp_op_rerun(&v, &key, &status)) return status;
    CVP_RETURN_IF_ERROR(cvp_params_check(op, p));
    if (p->no_bias && bias)
        return convop_fail(CONVOP_E_INVALID, "%s: a bias was given as input, no_bias is true",
                           op->name);
    return cvp_op_execute(&v, &key);
}

convop_status convop_conv_forward(const convop_conv_params *params, const DLTensor *src,
                                  const DLTensor *weights, const DLTensor *bias, DLTensor *dst,
                                  convop_request request, const convop_exec *exec)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(read_params(params, &p));
    return forward(p.activation ? &cvp_op_FusedConvolution : &cvp_op_Convolution, &p, 2,
                   (const DLTensor *const[]){src, weights, bias}, bias, dst, request, exec);
}

convop_status convop_conv_forward_add(const convop_conv_params *params, const DLTensor *src,
                                      const DLTensor *weights, const DLTensor *bias,
                                      const DLTensor *residual, DLTensor *dst,
                                      convop_request request, const convop_exec *exec)
{
    convop_conv_params p;
    CVP_RETURN_IF_ERROR(read_params(params, &p));
    return forward(&cvp_op_FusedConvolutionAdd, &p, 3,
                   (const DLTensor *const[]){src, residual, weights, bias}, bias, dst, request,
                   exec);
}

convop_status convop_conv_backward(const convop_conv_params *params, const DLTensor *diff_dst,
                                   const DLTensor *src, const DLTensor *weights, DLTensor *diff_src,
                                   DLTensor *diff_weights, DLTensor *diff_bias,
                                   const convop_request requests[3], const convop_exec *exec)
{
    convop_conv_params p;
    struct cvp_memo_key key;
    convop_status status;
    CVP_RETURN_IF_ERROR(read_params(params, &p));
    const DLTensor *const inputs[] = {diff_dst, src, weights};
    DLTensor *const outputs[] = {diff_src, diff_weights, diff_bias};
    const struct cvp_invocation v = {.op = &cvp_op__backward_Convolution,
                                     .params = &p,
                                     .num_inputs = 3,
                                     .inputs = inputs,
                                     .optional_inputs = OPTIONAL_SRC | OPTIONAL_WEIGHTS,
                                     .num_outputs = p.no_bias ? 2 : 3,
                                     .outputs = outputs,
                                     .requests = requests,
                                     .exec = exec};
    begin_key(&key, v.op, &p);
    key.is_bad |= !requests || (p.no_bias && diff_bias);
    if (cvp_op_rerun(&v, &key, &status)) return status;
    CVP_RETURN_IF_ERROR(cvp_params_check(&cvp_op_Convolution, &p));
    if (!requests)
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: the array of requests is NULL");
    if (p.no_bias && diff_bias)
        return convop_fail(CONVOP_E_INVALID,
                           "_backward_Convolution: diff_bias was given, no_bias is true");
    return cvp_op_execute(&v, &key);
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
