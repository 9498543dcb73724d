/* Opening cuDNN. */
#include "src/cuda/cudnn.h"

#include <stdio.h>

#include "src/cuda/driver.h"
#include "src/cuda/library.h"

static struct cvp_cudnn cudnn;

static const struct cvp_symbol symbols[] = {
#define CVP_CUDNN(member, symbol, result, parameters) {#symbol, offsetof(struct cvp_cudnn, member)},
#include "src/cuda/cudnn_list.h"
#undef CVP_CUDNN
};

static void put_version(struct cvp_text *text, size_t version)
{
    cvp_text_add(text, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

/* Attributes keep their numbers within a major version only. */
static int check(char *why, size_t size)
{
    const size_t version = cudnn.version();
    if (version >= CVP_CUDNN_OLDEST && version < 100000) return 1;
    struct cvp_text text = cvp_text_in(why, size);
    cvp_text_add(&text, "it is version ");
    if (version < 9000) /* up to 8 it was counted in thousands */
        cvp_text_add(&text, "%zu.%zu", version / 1000, version / 100 % 10);
    else
        put_version(&text, version);
    cvp_text_add(&text, ", want 9.8 or a newer 9");
    return 0;
}

static struct cvp_library library = {
    .setting = CVP_SETTING_CUDNN_LIBRARY,
    .setting_name = "cudnn_library",
    .soname = "libcudnn.so.9",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof symbols[0],
    .table = &cudnn,
    .check = check,
};

const struct cvp_cudnn *cvp_cudnn_get(const char **why)
{
    const struct cvp_cudnn *found = cvp_library_open(&library, why);
    return found && cvp_driver_is_lost(why) ? NULL : found;
}

void cvp_cudnn_describe(struct cvp_text *value, struct cvp_text *why)
{
    const char *reason;
    if (!cvp_cudnn_get(&reason)) {
        cvp_text_add(value, "none");
        cvp_text_add(why, "%s", reason);
        return;
    }
    put_version(value, cudnn.version());
    cvp_text_add(why, "%s", cvp_library_path(&library));
}
