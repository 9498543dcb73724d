/* Which devices there are, and which of them are here. Numbers are DLPack 1.3's; the header that
 * convop is built with may be older and lack the names. */
#include <stdio.h>

#include "src/common/status.h"
#include "src/common/tensor.h"

enum { CPU = 1, CUDA_HOST = 3 };

/* Ids above are no device of any machine: more likely a struct that was not filled. */
#define MAX_ID 1023

static const char *const names[] = {
    [1] = "cpu",        [2] = "cuda",     [3] = "cuda_host",     [4] = "opencl",
    [7] = "vulkan",     [8] = "metal",    [9] = "vpi",           [10] = "rocm",
    [11] = "rocm_host", [12] = "ext_dev", [13] = "cuda_managed", [14] = "oneapi",
    [15] = "webgpu",    [16] = "hexagon", [17] = "maia",         [18] = "trn",
};

convop_status cvp_device_check(const char *op, const char *name, DLDevice device)
{
    int type = (int)device.device_type, id = device.device_id;
    if ((type == CPU || type == CUDA_HOST) && id >= 0) return CONVOP_OK;
    const char *const kind =
        type >= 0 && type < (int)(sizeof(names) / sizeof(names[0])) ? names[type] : NULL;
    if (kind == NULL)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is on a device of type %d, which is unknown",
                           op, name, type);
    if (id < 0 || id > MAX_ID)
        return convop_fail(CONVOP_E_INVALID, "%s: %s is on device %s:%d, want an id from 0 to %d",
                           op, name, kind, id, MAX_ID);
    return convop_fail(
        CONVOP_E_DEVICE,
        "%s: %s is on device %s:%d, which is not taken here: only the CPU's memory is", op, name,
        kind, id);
}
