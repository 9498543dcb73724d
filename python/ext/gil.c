/* When the GIL is kept during a call: for tiny problems, and never while implementations are
 * measured. */
#include <string.h>

#include "python/ext/ext.h"

/* Its place among the settings, which have an alphabetical order. */
static size_t find(const char *name)
{
    convop_setting_info info = {.struct_size = sizeof info};
    size_t i = 0;
    while (convop_setting_at(i, &info) == CONVOP_OK && strcmp(info.name, name) != 0) i++;
    return i;
}

/* What the setting says: 1 and 0, or -1 where the operator's own wish counts. */
static int read_policy(void)
{
    static size_t autotune = SIZE_MAX;
    if (autotune == SIZE_MAX) autotune = find("autotune");
    convop_setting_info info = {.struct_size = sizeof info};
    if (convop_setting_at(autotune, &info) != CONVOP_OK || info.status != CONVOP_OK) return 1;
    return strcmp(info.value, "unset") == 0 ? -1 : strcmp(info.value, "0") != 0;
}

int cvp_py_may_measure(const convop_conv_params *p)
{
    /* To read a setting takes a lock and prints; it is as it was until the count goes up. */
    static uint64_t seen;
    static int policy;
    uint64_t now = convop_epoch();
    if (now != seen) {
        policy = read_policy();
        seen = now;
    }
    if (policy >= 0) return policy;
    return p->cudnn_tune == CONVOP_TUNE_LIMITED_WORKSPACE || p->cudnn_tune == CONVOP_TUNE_FASTEST;
}
