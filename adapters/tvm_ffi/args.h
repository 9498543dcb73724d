/* TVM FFI's packed arguments in convop's terms. Views are borrowed for the call. */
#ifndef ADAPTERS_TVM_FFI_ARGS_H
#define ADAPTERS_TVM_FFI_ARGS_H

#include <tvm/ffi/c_api.h>

#include "convop/convolution.h"

/* The first num_tensors arguments as tensors; NULL for None, which bit i of `optional` allows.
 *  @param function  for the text, as names[i] of argument i */
convop_status args_tensors(const char *function, const TVMFFIAny *args, int32_t num_args,
                           int num_tensors, const char *const *names, unsigned optional,
                           DLTensor **tensors);

/* Pairs of a name and a value as parameters. A value is an integer, a text, a shape, or an array or
 * list of integers. */
convop_status args_params(const TVMFFIAny *args, int32_t num_args, const DLTensor *weights,
                          int has_bias, convop_conv_params *params);

#endif
