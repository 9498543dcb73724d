/* The kinds. The image that most of them vary is (2, 2, 3, 4), in NCHW. */
#include "tests/dlpack/kinds.h"

#define IMAGE   .ndim = 4, .shape = {2, 2, 3, 4}
#define COMPACT IMAGE, .strides = {24, 12, 4, 1}

#define IN_OUT      .input = KIND_TAKEN, .output = KIND_TAKEN
#define IN(why)     .input = KIND_TAKEN, .output = KIND_REFUSED, .says = why
#define CARRY(why)  .input = KIND_CARRIED, .output = KIND_CARRIED, .says = why
#define REFUSE(why) .input = KIND_REFUSED, .output = KIND_REFUSED, .says = why

#define V(a, b) .versioned = 1, .major = a, .minor = b
#define FLAG(n) .versioned = 1, .flags = (uint64_t)1 << (n)

const struct kind kinds[] = {
    /* ---- structs, versions, flags, deleters */
    {"float32, compact", COMPACT, IN_OUT},
    {"version 1.0", COMPACT, V(1, 0), IN_OUT},
    {"version 1.99", COMPACT, V(1, 99), IN_OUT},
    {"version 2.0", COMPACT, V(2, 0), REFUSE("version 2.0")},
    {"version 0.8 in the struct of 1.x", COMPACT, V(0, 8), REFUSE("version 0.8")},
    {"flag READ_ONLY", COMPACT, FLAG(0), IN("read-only")},
    {"flag IS_COPIED", COMPACT, FLAG(1), IN_OUT},
    {"flag IS_SUBBYTE_TYPE_PADDED, float32", COMPACT, FLAG(2), IN_OUT},
    {"a flag that nobody knows", COMPACT, FLAG(40), IN_OUT},
    {"deleter NULL", COMPACT, .null_deleter = 1, IN_OUT},
    /* ---- memory */
    {"byte_offset 16", COMPACT, .byte_offset = 16, IN_OUT},
    {"byte_offset 2, float32", COMPACT, .byte_offset = 2, REFUSE("not aligned")},
    {"byte_offset past the end of the address space", COMPACT, .byte_offset = UINT64_MAX - 63,
     REFUSE("address space")},
    {"data aligned to 4 bytes only", COMPACT, .skew = 20, IN_OUT},
    {"data off by 1 byte", COMPACT, .skew = 1, REFUSE("not aligned")},
    {"data off by 2 bytes, byte_offset 2", COMPACT, .skew = 2, .byte_offset = 2, IN_OUT},
    {"data NULL, not empty", COMPACT, .null_data = 1, REFUSE("NULL")},
    {"data NULL, not empty, byte_offset 64", COMPACT, .null_data = 1, .byte_offset = 64,
     REFUSE("NULL")},
    /* ---- strides */
    {"strides NULL", IMAGE, .null_strides = 1, IN_OUT},
    {"gaps between rows", IMAGE, .strides = {48, 24, 8, 1}, IN_OUT},
    {"every second element", IMAGE, .strides = {48, 24, 8, 2}, IN_OUT},
    {"channels last in memory", IMAGE, .strides = {24, 1, 8, 2}, IN_OUT},
    {"transposed, a dense permutation", IMAGE, .strides = {24, 12, 1, 3}, IN_OUT},
    {"all dimensions in reverse", IMAGE, .strides = {1, 2, 4, 12}, IN_OUT},
    {"size 1 with odd strides", .ndim = 4, .shape = {1, 2, 1, 4}, .strides = {999, 4, 12, 1},
     IN_OUT},
    {"size 1 with strides 0 and -7", .ndim = 4, .shape = {1, 1, 3, 4}, .strides = {0, -7, 4, 1},
     IN_OUT},
    {"one channel, channels last in memory", .ndim = 4, .shape = {2, 1, 3, 4},
     .strides = {12, 1, 4, 1}, IN_OUT},
    {"stride 0, a broadcast", IMAGE, .strides = {0, 12, 4, 1}, IN("overlap")},
    {"overlapping windows", IMAGE, .strides = {24, 12, 2, 1}, IN("overlap")},
    {"interleaved, without overlap", .ndim = 4, .shape = {1, 1, 3, 2}, .strides = {1, 1, 2, 3},
     IN("interleave")},
    {"negative stride", IMAGE, .strides = {24, 12, -4, 1}, .byte_offset = 32,
     REFUSE("negative stride")},
    {"strides that reach past 2^63 bytes", IMAGE, .strides = {INT64_MAX / 4, 12, 4, 1},
     REFUSE("overflows 64 bits")},
    /* ---- ranks and sizes */
    {"ndim 0, shape and strides NULL", .null_shape = 1, .null_strides = 1, IN_OUT},
    {"ndim 0, shape and strides not NULL", .shape = {5}, .strides = {7}, IN_OUT},
    {"size 0, data NULL", .ndim = 4, .shape = {0, 2, 3, 4}, .strides = {24, 12, 4, 1},
     .null_data = 1, IN_OUT},
    {"size 0, data not NULL, strides 0", .ndim = 4, .shape = {0, 2, 3, 4}, IN_OUT},
    {"size 0, negative strides", .ndim = 4, .shape = {0, 2, 3, 4}, .strides = {-24, 12, -4, 1},
     IN_OUT},
    {"ndim 8", .ndim = 8, .shape = {1, 1, 1, 1, 2, 2, 3, 4},
     .strides = {48, 48, 48, 48, 24, 12, 4, 1}, CARRY("")},
    {"ndim 9", .ndim = 9, .shape = {1, 1, 1, 1, 1, 1, 1, 1, 1}, .null_strides = 1,
     REFUSE("ndim 9")},
    {"ndim -1", .ndim = -1, REFUSE("ndim -1")},
    {"ndim 4, shape NULL", COMPACT, .null_shape = 1, REFUSE("shape is NULL")},
    {"a negative size", .ndim = 4, .shape = {2, -2, 3, 4}, .strides = {24, 12, 4, 1},
     REFUSE("negative size")},
    {"sizes past 2^63 bytes", .ndim = 2, .shape = {(int64_t)1 << 31, (int64_t)1 << 31},
     .null_strides = 1, REFUSE("overflows 64 bits")},
    /* ---- devices */
    {"CPU, device_id 5", COMPACT, .device = {kDLCPU, 5}, IN_OUT},
    {"CPU, device_id -1", COMPACT, .device = {kDLCPU, -1}, REFUSE("cpu:-1")},
    {"kDLCUDAHost (3), pinned memory", COMPACT, .device = {(DLDeviceType)3, 0}, IN_OUT},
    {"kDLCUDA (2), not here", COMPACT, .device = {(DLDeviceType)2, 7}, REFUSE("cuda:7")},
    {"kDLCUDAManaged (13), not here", COMPACT, .device = {(DLDeviceType)13, 7},
     REFUSE("cuda_managed:7")},
    {"kDLMetal (8)", COMPACT, .device = {(DLDeviceType)8, 0}, REFUSE("metal:0")},
    {"device type 99", COMPACT, .device = {(DLDeviceType)99, 0}, REFUSE("type 99")},
    /* ---- element types: code, bits, lanes */
    {"float64", COMPACT, .dtype = {2, 64, 1}, IN_OUT},
    {"float16", COMPACT, .dtype = {2, 16, 1}, IN_OUT},
    {"bfloat16", COMPACT, .dtype = {4, 16, 1}, IN_OUT},
    {"int8", COMPACT, .dtype = {0, 8, 1}, CARRY("int8")},
    {"int64", COMPACT, .dtype = {0, 64, 1}, CARRY("int64")},
    {"uint8", COMPACT, .dtype = {1, 8, 1}, CARRY("uint8")},
    {"bool, 8 bits", COMPACT, .dtype = {6, 8, 1}, CARRY("bool")},
    {"complex64", COMPACT, .dtype = {5, 64, 1}, CARRY("complex64")},
    {"bool, 1 bit", COMPACT, .dtype = {6, 1, 1}, REFUSE("1 bits")},
    {"uint of 1 bit, MXNet's bool", COMPACT, .dtype = {1, 1, 1}, REFUSE("1 bits")},
    {"float8_e4m3fn", COMPACT, .dtype = {10, 8, 1}, REFUSE("float8_e4m3fn")},
    {"float8_e5m2", COMPACT, .dtype = {12, 8, 1}, REFUSE("float8_e5m2")},
    {"float4_e2m1fn, 2 lanes", COMPACT, .dtype = {17, 4, 2}, REFUSE("float4_e2m1fn")},
    {"lanes 4", COMPACT, .dtype = {2, 32, 4}, REFUSE("4 lanes")},
    {"lanes 0", COMPACT, .dtype = {2, 32, 0}, REFUSE("0 lanes")},
    {"int24", COMPACT, .dtype = {0, 24, 1}, REFUSE("24 bits")},
    {"bfloat32", COMPACT, .dtype = {4, 32, 1}, REFUSE("32 bits")},
    {"opaque", COMPACT, .dtype = {3, 64, 1}, REFUSE("opaque")},
    {"type code 200", COMPACT, .dtype = {200, 32, 1}, REFUSE("code 200")},
};
const size_t num_kinds = sizeof kinds / sizeof kinds[0];
