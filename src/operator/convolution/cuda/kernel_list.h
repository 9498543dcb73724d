/* Every CUDA kernel: CUDA_KERNEL(name, arguments, threads of a block at most, body). No guard: it
 * is included for each use. Types of one kernel follow each other, in the order of enum
 * cvp_cuda_type. */
#define CUDA_FLOATS(KERNEL, ...)                                                                   \
    KERNEL(f32, float, __VA_ARGS__) KERNEL(f16, f16, __VA_ARGS__) KERNEL(bf16, bf16, __VA_ARGS__)
#define CUDA_TYPES(KERNEL, ...) CUDA_FLOATS(KERNEL, __VA_ARGS__) KERNEL(f64, double, __VA_ARGS__)

/* Depthwise of a fixed size: the layout, kernel, stride; backward at stride 1 is forward. */
#define CUDA_DW(t, T, layout, size, stride)                                                        \
    CUDA_KERNEL(dw_##layout##_k##size##s##stride##_##t, cvp_dw_args, 256,                          \
                (dw_##layout<T, size, stride, false>(a)))
#define CUDA_DW_BACK(t, T, layout, size)                                                           \
    CUDA_KERNEL(dw_##layout##_back_k##size##s2_##t, cvp_dw_args, 256,                              \
                (dw_##layout<T, size, 2, true>(a)))
#define CUDA_DW_FILTER(t, T, layout, size, stride)                                                 \
    CUDA_KERNEL(dw_##layout##_filter_k##size##s##stride##_##t, cvp_dw_filter_args, 256,            \
                (dw_##layout##_filter<T, size, stride>(a)))
#define CUDA_DW_DIRECT(t, T, name)                                                                 \
    CUDA_KERNEL(dw_direct_##t, cvp_dw_direct_args, 256, (dw_direct<T>(a)))
#define CUDA_DW_DIRECT_FILTER(t, T, name)                                                          \
    CUDA_KERNEL(dw_direct_filter_##t, cvp_dw_direct_filter_args, 256, (dw_direct_filter<T>(a)))
#define CUDA_REDUCE(t, T, name)                                                                    \
    CUDA_KERNEL(reduce_##t, cvp_cuda_reduce_args, 256, (add_parts<T>(a)))

#define CUDA_DW_LAYOUT(layout)                                                                     \
    CUDA_FLOATS(CUDA_DW, layout, 3, 1)                                                             \
    CUDA_FLOATS(CUDA_DW, layout, 3, 2)                                                             \
    CUDA_FLOATS(CUDA_DW, layout, 5, 1)                                                             \
    CUDA_FLOATS(CUDA_DW, layout, 5, 2)                                                             \
    CUDA_FLOATS(CUDA_DW_BACK, layout, 3)                                                           \
    CUDA_FLOATS(CUDA_DW_BACK, layout, 5)                                                           \
    CUDA_FLOATS(CUDA_DW_FILTER, layout, 3, 1)                                                      \
    CUDA_FLOATS(CUDA_DW_FILTER, layout, 3, 2)                                                      \
    CUDA_FLOATS(CUDA_DW_FILTER, layout, 5, 1)                                                      \
    CUDA_FLOATS(CUDA_DW_FILTER, layout, 5, 2)

CUDA_DW_LAYOUT(first)
CUDA_DW_LAYOUT(last)
CUDA_TYPES(CUDA_DW_DIRECT, )
CUDA_TYPES(CUDA_DW_DIRECT_FILTER, )
CUDA_TYPES(CUDA_REDUCE, )

/* Implicit GEMM: rows and columns of a block's tile, and of a thread's. */
#define CUDA_GEMM(t, T, rows, columns, tm, tn)                                                     \
    CUDA_KERNEL(gemm_##rows##x##columns##_##t, cvp_gemm_args, (rows * columns / (tm * tn)),        \
                (gemm<T, rows, columns, tm, tn>(a)))
CUDA_FLOATS(CUDA_GEMM, 128, 128, 8, 8)
CUDA_TYPES(CUDA_GEMM, 64, 64, 8, 4)

#undef CUDA_FLOATS
#undef CUDA_TYPES
#undef CUDA_DW
#undef CUDA_DW_BACK
#undef CUDA_DW_FILTER
#undef CUDA_DW_DIRECT
#undef CUDA_DW_DIRECT_FILTER
#undef CUDA_REDUCE
#undef CUDA_DW_LAYOUT
#undef CUDA_GEMM
