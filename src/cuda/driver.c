/* Opening the CUDA driver, and what it says. */
#include "src/cuda/driver.h"

#include <stdio.h>

#include "src/common/status.h"
#include "src/cuda/library.h"

/* CUDA 12.0: the oldest driver that the current releases of cuDNN 9 run on. */
#define OLDEST 12000

static struct cvp_driver driver;
static int version;

static const struct cvp_symbol symbols[] = {
#define CVP_DRIVER(member, symbol, parameters) {#symbol, offsetof(struct cvp_driver, member)},
#include "src/cuda/driver_list.h"
#undef CVP_DRIVER
};

static const char *text_of(const struct cvp_driver *d, unsigned result)
{
    const char *text = NULL;
    return d->error_string(result, &text) == CVP_CUDA_SUCCESS && text ? text : "unknown error";
}

static const char *name_of(const struct cvp_driver *d, unsigned result)
{
    const char *name = NULL;
    return d->error_name(result, &name) == CVP_CUDA_SUCCESS && name ? name : "?";
}

static int check(char *why, size_t size)
{
    unsigned result = driver.driver_version(&version);
    if (result == CVP_CUDA_SUCCESS && version < OLDEST) {
        snprintf(why, size, "the driver is for CUDA %d.%d, want %d.%d or newer", version / 1000,
                 version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
        return 0;
    }
    if (result == CVP_CUDA_SUCCESS) result = driver.init(0);
    if (result != CVP_CUDA_SUCCESS) {
        snprintf(why, size, "the driver does not start: %s (%s)", text_of(&driver, result),
                 name_of(&driver, result));
        return 0;
    }
    return 1;
}

static struct cvp_library library = {
    .setting = CVP_SETTING_CUDA_LIBRARY,
    .setting_name = "cuda_library",
    .soname = "libcuda.so.1",
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof symbols[0],
    .table = &driver,
    .check = check,
};

int cvp_driver_is_lost(const char **why)
{
    *why = "this process was forked from one that had used CUDA, which does not survive that";
    return cvp_library_is_inherited(&library) && library.used;
}

const struct cvp_driver *cvp_driver_get(const char **why)
{
    const struct cvp_driver *found = cvp_library_open(&library, why);
    return found && cvp_driver_is_lost(why) ? NULL : found;
}

convop_status cvp_driver_status(const struct cvp_driver *d, unsigned result, const char *what)
{
    if (result == CVP_CUDA_SUCCESS) return CONVOP_OK;
    return convop_fail(result == CVP_CUDA_ERROR_OUT_OF_MEMORY ? CONVOP_E_NO_MEMORY
                                                              : CONVOP_E_DEVICE,
                       "%s: %s (%s)", what, text_of(d, result), name_of(d, result));
}

void cvp_driver_describe(struct cvp_text *value, struct cvp_text *why)
{
    const char *reason;
    if (!cvp_driver_get(&reason)) {
        cvp_text_add(value, "none");
        cvp_text_add(why, "%s", reason);
        return;
    }
    cvp_text_add(value, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
    cvp_text_add(why, "%s", cvp_library_path(&library));
}
