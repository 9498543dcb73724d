/* conv_forward and conv_backward for TVM FFI: tvm_ffi.load_module("libconvop_tvm_ffi.so") finds
 * every function whose name begins with __tvm_ffi_.
 *
 *     conv_forward(src, weights, bias, dst, name, value, ...)
 *     conv_backward(diff_dst, src, weights, diff_src, diff_weights, diff_bias, name, value, ...)
 *
 * Tensors are whatever TVM FFI takes for one; bias and unwanted gradients may be None. Outputs are
 * the caller's and are written. Names are those of adapters/conv_attrs.h. On a GPU the stream is
 * the one that TVM FFI holds current. The ABI is that of apache-tvm-ffi's tvm/ffi/c_api.h. */
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "adapters/tvm_ffi/args.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int __tvm_ffi_conv_forward(void *self, const TVMFFIAny *args, int32_t num_args,
                                  TVMFFIAny *result);
EXPORT int __tvm_ffi_conv_backward(void *self, const TVMFFIAny *args, int32_t num_args,
                                   TVMFFIAny *result);

static convop_exec exec_for(const DLTensor *tensor)
{
    convop_exec exec = CONVOP_EXEC_INIT;
    if (tensor->device.device_type != kDLCPU)
        exec.stream =
            TVMFFIEnvGetStream((int32_t)tensor->device.device_type, tensor->device.device_id);
    return exec;
}

static convop_status forward(const TVMFFIAny *args, int32_t num_args)
{
    enum { SRC, WEIGHTS, BIAS, DST, NUM_TENSORS };
    static const char *const names[NUM_TENSORS] = {"src", "weights", "bias", "dst"};
    DLTensor *tensors[NUM_TENSORS];
    convop_status status =
        args_tensors("conv_forward", args, num_args, NUM_TENSORS, names, 1u << BIAS, tensors);
    if (status != CONVOP_OK) return status;

    convop_conv_params params;
    status = args_params(args + NUM_TENSORS, num_args - NUM_TENSORS, tensors[WEIGHTS],
                         tensors[BIAS] != NULL, &params);
    if (status != CONVOP_OK) return status;
    convop_exec exec = exec_for(tensors[SRC]);
    return convop_conv_forward(&params, tensors[SRC], tensors[WEIGHTS], tensors[BIAS], tensors[DST],
                               CONVOP_REQ_WRITE, &exec);
}

static convop_status backward(const TVMFFIAny *args, int32_t num_args)
{
    enum { DIFF_DST, SRC, WEIGHTS, DIFF_SRC, DIFF_WEIGHTS, DIFF_BIAS, NUM_TENSORS };
    static const char *const names[NUM_TENSORS] = {"diff_dst", "src",          "weights",
                                                   "diff_src", "diff_weights", "diff_bias"};
    DLTensor *tensors[NUM_TENSORS];
    convop_status status =
        args_tensors("conv_backward", args, num_args, NUM_TENSORS, names,
                     1u << DIFF_SRC | 1u << DIFF_WEIGHTS | 1u << DIFF_BIAS, tensors);
    if (status != CONVOP_OK) return status;

    convop_conv_params params;
    status = args_params(args + NUM_TENSORS, num_args - NUM_TENSORS, tensors[WEIGHTS],
                         tensors[DIFF_BIAS] != NULL, &params);
    if (status != CONVOP_OK) return status;
    convop_request requests[3];
    for (int i = 0; i < 3; i++)
        requests[i] = tensors[DIFF_SRC + i] ? CONVOP_REQ_WRITE : CONVOP_REQ_NULL;
    convop_exec exec = exec_for(tensors[DIFF_DST]);
    return convop_conv_backward(&params, tensors[DIFF_DST], tensors[SRC], tensors[WEIGHTS],
                                tensors[DIFF_SRC], tensors[DIFF_WEIGHTS], tensors[DIFF_BIAS],
                                requests, &exec);
}

/* The result is None. An error becomes the Python exception of that name. */
static int answer(convop_status status, TVMFFIAny *result)
{
    *result = (TVMFFIAny){.type_index = kTVMFFINone};
    if (status == CONVOP_OK) return 0;
    const char *kind = status == CONVOP_E_INVALID       ? "ValueError"
                       : status == CONVOP_E_UNSUPPORTED ? "NotImplementedError"
                       : status == CONVOP_E_NO_MEMORY   ? "MemoryError"
                                                        : "RuntimeError";
    TVMFFIErrorSetRaisedFromCStr(kind, convop_last_error());
    return -1;
}

int __tvm_ffi_conv_forward(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result)
{
    (void)self;
    return answer(forward(args, num_args), result);
}

int __tvm_ffi_conv_backward(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result)
{
    (void)self;
    return answer(backward(args, num_args), result);
}
