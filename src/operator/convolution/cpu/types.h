/* Instances of plain loops for each type that tensors are stored in. No guard: included once for
 * each file of loops, whose name is LOOPS. There T is the stored type, NUMBER the one that kernels
 * compute in, LOAD makes a double of a T, STORE rounds a double to it, NAME names the instance. */
#include "src/common/half.h"

#ifndef CVP_CONV_TYPES_H
#define CVP_CONV_TYPES_H

/* A table of instances, in the order of enum cvp_stored_type. */
#define CONV_INSTANCES(name)                                                                       \
    {                                                                                              \
        name##_f32, name##_f64, name##_f16, name##_bf16                                            \
    }

#endif

#define T          float
#define NUMBER     float
#define LOAD(x)    ((double)(x))
#define STORE(x)   ((float)(x))
#define NAME(name) name##_f32
#include LOOPS
#undef T
#undef NUMBER
#undef LOAD
#undef STORE
#undef NAME

#define T          double
#define NUMBER     double
#define LOAD(x)    (x)
#define STORE(x)   (x)
#define NAME(name) name##_f64
#include LOOPS
#undef T
#undef NUMBER
#undef LOAD
#undef STORE
#undef NAME

/* From double to 16 bits through float, as the accumulator of a kernel would go. */
#define T          uint16_t
#define NUMBER     float
#define LOAD(x)    ((double)cvp_float_of_f16(x))
#define STORE(x)   cvp_f16_of_float((float)(x))
#define NAME(name) name##_f16
#include LOOPS
#undef LOAD
#undef STORE
#undef NAME

#define LOAD(x)    ((double)cvp_float_of_bf16(x))
#define STORE(x)   cvp_bf16_of_float((float)(x))
#define NAME(name) name##_bf16
#include LOOPS
#undef T
#undef NUMBER
#undef LOAD
#undef STORE
#undef NAME
#undef LOOPS
