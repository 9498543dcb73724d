/* Opens the library as a plug-in of a program would, LOCAL or GLOBAL, and again after it is closed:
 *     load LIBRARY local|global */
#include <convop/convop.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    int flags = RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(argv[1], flags);
        if (!library) {
            printf("%s\n", dlerror());
            return 1;
        }
        convop_status (*forward)(const convop_conv_params *, const DLTensor *, const DLTensor *,
                                 const DLTensor *, DLTensor *, convop_request, const convop_exec *);
        *(void **)&forward = dlsym(library, "convop_conv_forward");
        int visible = dlsym(RTLD_DEFAULT, "convop_conv_forward") != NULL;
        if (!forward || visible != ((flags & RTLD_GLOBAL) != 0)) {
            printf("%s: the name is%s seen by the program\n", argv[2], visible ? "" : " not");
            return 1;
        }

        /* Large enough for the pool of threads, which outlives dlclose(). */
        enum { C = 16, N = 64 };
        static float x[C * N * N], w[C * C], y[C * N * N];
        for (int k = 0; k < C * N * N; k++) x[k] = 1;
        for (int k = 0; k < C * C; k++) w[k] = 2;
        int64_t x_shape[4] = {1, C, N, N}, w_shape[4] = {C, C, 1, 1};
        DLTensor src = {x, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, x_shape, NULL, 0};
        DLTensor weights = {w, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, w_shape, NULL, 0};
        DLTensor dst = {y, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, x_shape, NULL, 0};
        convop_conv_params params = CONVOP_CONV_PARAMS_INIT;
        params.kernel = convop_tuple2(1, 1);
        params.num_filter = C;
        params.no_bias = 1;
        if (forward(&params, &src, &weights, NULL, &dst, CONVOP_REQ_WRITE, NULL) != CONVOP_OK)
            return 1;
        for (int k = 0; k < C * N * N; k++)
            if (y[k] != 2 * C) return 1;
        dlclose(library);
    }
    return 0;
}
