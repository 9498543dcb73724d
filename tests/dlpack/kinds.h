/* Kinds of tensors that producers of DLPack hand out, the odd ones among them, as data: what the
 * struct says, and what convop answers. Seen in PyTorch, NumPy, JAX, CuPy, TVM and MXNet, or legal
 * or illegal by the text of dlpack.h. */
#ifndef TESTS_DLPACK_KINDS_H
#define TESTS_DLPACK_KINDS_H

#include "convop/base.h"

enum { KIND_DIMS = 9 };

/* What becomes of one. */
enum kind_answer {
    KIND_REFUSED,
    KIND_CARRIED, /* imported and exported; Convolution does not compute with it */
    KIND_TAKEN    /* Convolution reads it, or writes it */
};

/* Members that are 0 have the plain value: float32, CPU, the start of the memory. */
struct kind {
    const char *name; /* for people; the first column of the table */
    DLDevice device;  /* type 0: the CPU */
    DLDataType dtype; /* code, bits and lanes 0: float32 */
    int ndim;
    int64_t shape[KIND_DIMS], strides[KIND_DIMS];
    int null_shape, null_strides, null_data, null_deleter;
    int skew; /* bytes from the start of the memory to `data` */
    uint64_t byte_offset;
    unsigned major, minor; /* 0 and 0: 1.3 */
    uint64_t flags;
    int versioned; /* 1: the old struct cannot say it */
    enum kind_answer input, output;
    const char *says; /* a part of the refusal; NULL where nothing is refused */
};

extern const struct kind kinds[];
extern const size_t num_kinds;

#endif
