/* The kernels for tiles, where this build and this CPU have them. */
#include "src/operator/convolution/cpu/split_kernels.h"

#include <stddef.h>

#include "src/common/isa.h"
#include "src/config.h"

#if CVP_BUILD_AMX
extern const struct cvp_split_kernels cvp_split_amx;
#endif

const struct cvp_split_kernels *cvp_split_kernels(int isa)
{
#if CVP_BUILD_AMX
    if (isa == CVP_ISA_AMX) return &cvp_split_amx;
#endif
    (void)isa;
    return NULL;
}
