/* Stands before the library (LD_PRELOAD) and spoils what convop_conv_forward does, in the way that
 * the variable WRONG names. So `convop bench` is seen to notice. For float32 only. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "convop/convolution.h"

typedef convop_status forward(const convop_conv_params *, const DLTensor *, const DLTensor *,
                              const DLTensor *, DLTensor *, convop_request, const convop_exec *);

static float *last_of(const DLTensor *t, int beyond)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
    return (float *)t->data + n - 1 + beyond;
}

convop_status convop_conv_forward(const convop_conv_params *params, const DLTensor *src,
                                  const DLTensor *weights, const DLTensor *bias, DLTensor *dst,
                                  convop_request request, const convop_exec *exec)
{
    const char *wrong = getenv("WRONG");
    if (wrong && strcmp(wrong, "unwritten") == 0) return CONVOP_OK;
    /* A pointer to a function cannot be cast from void *, by ISO C. */
    void *symbol = dlsym(RTLD_NEXT, "convop_conv_forward");
    forward *real;
    memcpy(&real, &symbol, sizeof real);
    convop_status status = real(params, src, weights, bias, dst, request, exec);
    if (wrong && strcmp(wrong, "element") == 0) *last_of(dst, 0) += 1;
    if (wrong && strcmp(wrong, "beyond") == 0) *last_of(dst, 1) = 0;
    if (wrong && strcmp(wrong, "before") == 0) ((float *)dst->data)[-1] = 0;
    if (wrong && strcmp(wrong, "input") == 0) *last_of(src, 0) += 1;
    return status;
}
