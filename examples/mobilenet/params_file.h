/* Parameters on disk in the format of MXNet's .params files (a list of named arrays), so that
 * either program reads what the other wrote. Little-endian, as every machine that runs either. */
#ifndef MOBILENET_PARAMS_FILE_H
#define MOBILENET_PARAMS_FILE_H

#include <stddef.h>

#include "convop/base.h"

/* A named array: "arg:conv_1_conv2d_weight", "aux:conv_1_batchnorm_moving_mean". */
struct named_tensor {
    const char *name;
    const DLTensor *tensor; /* compact, float32 or float64 */
};

/* Writes to a temporary name beside it, syncs and renames: a file that was there stays whole until
 * the new one is. IO with a sentence that names the file. */
convop_status params_save(const char *path, const struct named_tensor *tensors, size_t count);

/* Reads each array into the tensor of its name. IO: the file is missing, truncated or no such file
 * (the sentence has the offset); INVALID: a tensor of the list is not in it, or in another shape or
 * dtype. Tensors may be partly overwritten on failure. */
convop_status params_load(const char *path, const struct named_tensor *tensors, size_t count);

#endif
