/* The GPUs of this machine, by the ordinal that DLPack's device_id is. */
#ifndef CVP_CUDA_DEVICE_H
#define CVP_CUDA_DEVICE_H

#include "src/cuda/driver.h"

/* More than any machine has; what is beyond is not seen. */
#define CVP_MAX_GPUS 64

struct cvp_gpu {
    int ordinal;      /* -1: it is not here, and only its properties are known */
    int device;       /* the driver's name of it */
    char name[96];    /* "NVIDIA H200" */
    int major, minor; /* compute capability */
    int processors;   /* streaming multiprocessors */
    int driver;       /* CUDA version of its driver: 13000 */
    size_t memory;    /* bytes */
    double bandwidth; /* of memory: bytes a millisecond; 0: not known */
    char key[160];    /* for the tuning cache: what decides about speed */
    void *properties; /* cuDNN's, of one that is not here */
};

/* Sets the key from the rest. */
void cvp_gpu_set_key(struct cvp_gpu *gpu);

/* Adds what else a tuned choice depends on: the versions of the driver and of cuDNN. */
void cvp_gpu_describe_software(const struct cvp_gpu *gpu, struct cvp_text *text);

/* How many there are; 0 with the reason in *why. Looked for once a process. Thread-safe. */
int cvp_gpu_count(const char **why);

/* The GPU of an ordinal, NULL with the reason. It stays. Thread-safe. */
const struct cvp_gpu *cvp_gpu_get(int ordinal, const char **why);

/* For `convop info`: their names and sizes, or "none" and why. */
void cvp_gpu_describe(struct cvp_text *value, struct cvp_text *why);

#endif
