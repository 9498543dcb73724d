/* The GPUs of this machine, by the ordinal that DLPack's device_id is. */
#ifndef CVP_CUDA_DEVICE_H
#define CVP_CUDA_DEVICE_H

#include "src/cuda/driver.h"

struct cvp_gpu {
    int ordinal, device; /* of the driver */
    char name[96];       /* "NVIDIA H200" */
    int major, minor;    /* compute capability */
    int processors;      /* streaming multiprocessors */
    size_t memory;       /* bytes */
};

/* How many there are; 0 with the reason in *why. Looked for once a process. Thread-safe. */
int cvp_gpu_count(const char **why);

/* The GPU of an ordinal, NULL with the reason. It stays. Thread-safe. */
const struct cvp_gpu *cvp_gpu_get(int ordinal, const char **why);

/* For `convop info`: their names and sizes, or "none" and why. */
void cvp_gpu_describe(struct cvp_text *value, struct cvp_text *why);

#endif
