/* Loads the plug-in of docs/plugins.md, runs its operator, and unloads it. */
#include <convop/convop.h>
#include <stdio.h>

static int failed(const char *what)
{
    printf("%s: %s\n", what, convop_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    convop_plugin_handle *plugin = NULL;
    if (argc != 2 || convop_plugin_load(argv[1], &plugin) != CONVOP_OK) return failed("load");
    float from[3] = {1, 2, 3}, to[3] = {10, 10, 10};
    int64_t n = 3;
    DLTensor src = {.data = from, .ndim = 1, .shape = &n}, dst;
    src.device.device_type = kDLCPU;
    src.dtype.code = kDLFloat;
    src.dtype.bits = 32;
    src.dtype.lanes = 1;
    dst = src;
    dst.data = to;
    const char *key = "factor", *value = "2";
    const DLTensor *in[] = {&src};
    DLTensor *out[] = {&dst};
    const convop_request requests[] = {CONVOP_REQ_NULL, CONVOP_REQ_WRITE, CONVOP_REQ_ADD};
    for (int i = 0; i < 3; i++)
        if (convop_invoke("Scale", 1, &key, &value, 1, in, 1, out, &requests[i], NULL) != CONVOP_OK)
            return failed("Scale");
    if (to[0] != 4 || to[2] != 12) return failed("the result is wrong");
    if (convop_invoke("Scale", 0, NULL, NULL, 1, in, 1, out, NULL, NULL) != CONVOP_E_INVALID)
        return failed("factor is required");
    convop_plugin_unload(&plugin);
    if (convop_invoke("Scale", 1, &key, &value, 1, in, 1, out, NULL, NULL) != CONVOP_E_NOT_FOUND)
        return failed("it is still there");
    return 0;
}
