/* What an XLA FFI call frame holds, in convop's terms: views of its buffers, the parameters, and
 * errors. Nothing is copied; views live as long as the call. The ABI is that of jaxlib's
 * xla/ffi/api/c_api.h. */
#ifndef ADAPTERS_JAX_CALL_FRAME_H
#define ADAPTERS_JAX_CALL_FRAME_H

#include <xla/ffi/api/c_api.h>

#include "convop/convolution.h"

/* Answers a question for metadata and says 1: the handler has then nothing to compute. So too in a
 * stage other than execution. */
int frame_is_query(XLA_FFI_CallFrame *frame);

/* INVALID for a frame of an XLA that is older than the header, or for numbers of arguments and
 * results outside of these. */
convop_status frame_check(const XLA_FFI_CallFrame *frame, int min_args, int max_args, int min_rets,
                          int max_rets);

/* Views of an argument and of a result. INVALID for what is no buffer of at most 8 dimensions. */
convop_status frame_arg(const XLA_FFI_CallFrame *frame, int index, DLTensor *view);
convop_status frame_ret(const XLA_FFI_CallFrame *frame, int index, DLTensor *view);

/* The attributes as parameters; `weights` is a view of the weights or of their gradient. */
convop_status frame_params(const XLA_FFI_CallFrame *frame, const DLTensor *weights, int has_bias,
                           convop_conv_params *params);

/* NULL for OK, else an error with convop's sentence that XLA will destroy. */
XLA_FFI_Error *frame_error(const XLA_FFI_CallFrame *frame, convop_status status);

#endif
