// libtorch and convop in one program: the same convolution by both, on the same memory.
//     g++ -std=c++20 -isystem $TORCH/include libtorch.cc $(pkg-config --cflags --libs convop) \
//         -L$TORCH/lib -ltorch_cpu -lc10 -Wl,-rpath,$TORCH/lib -Wl,--allow-shlib-undefined
// where TORCH is the folder of the Python package torch, or of libtorch. The order of the libraries does
// not matter: convop takes no name from libtorch, which brings a BLAS, and lends none to it.
#include <ATen/ATen.h>
#include <convop/convop.h>

#include <cstdio>

static DLTensor view(const at::Tensor &t)
{
    DLTensor v = {t.data_ptr(), {kDLCPU, 0}, int32_t(t.dim()), {kDLFloat, 32, 1}, nullptr, nullptr, 0};
    v.shape = const_cast<int64_t *>(t.sizes().data());
    v.strides = const_cast<int64_t *>(t.strides().data());
    return v;
}

// The largest difference, of the largest value.
static double difference(int64_t group, int64_t kernel, at::MemoryFormat format)
{
    const int64_t pad = kernel / 2;
    at::Tensor x = at::randn({2, 32, 28, 28}).contiguous(format);
    at::Tensor w = at::randn({64, 32 / group, kernel, kernel});
    at::Tensor b = at::randn({64});
    at::Tensor expected = at::conv2d(x, w, b, {2, 2}, {pad, pad}, {1, 1}, group);
    at::Tensor y = at::empty_like(expected);

    convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
    params.kernel = convop_tuple2(kernel, kernel);
    params.stride = convop_tuple2(2, 2);
    params.pad_begin = params.pad_end = convop_tuple2(pad, pad);
    params.num_filter = 64;
    params.num_group = group;
    params.no_bias = 0;
    DLTensor src = view(x), weights = view(w), bias = view(b), dst = view(y);
    if (convop_conv_forward(&params, &src, &weights, &bias, &dst, CONVOP_REQ_WRITE, nullptr)) {
        std::printf("%s\n", convop_last_error());
        return 1;
    }
    return ((y - expected).abs().max() / expected.abs().max()).item<double>();
}

int main()
{
    for (auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast})
        for (int64_t group : {1, 4, 32})
            for (int64_t kernel : {1, 3}) {
                double d = difference(group, kernel, format);
                if (d < 1e-5) continue;
                std::printf("group %d, kernel %d: they differ by %g\n", int(group), int(kernel), d);
                return 1;
            }
    return 0;
}
