/* When the GIL is kept during a call: for tiny problems, but never while implementations are
 * measured, nor while lines of log are written, whose reader may be a thread of Python. */
#include <string.h>

#include "python/ext/ext.h"

/* What the settings say. measures: 1 and 0, or -1 where the operator's own wish counts. */
struct policy {
    int logs, measures;
};

static struct policy read_policy(void)
{
    struct policy policy = {1, 1}; /* of settings that do not parse */
    convop_setting_info info = {.struct_size = sizeof info};
    for (size_t i = 0; convop_setting_at(i, &info) == CONVOP_OK; i++) {
        if (info.status != CONVOP_OK) continue;
        if (strcmp(info.name, "verbose") == 0) policy.logs = strcmp(info.value, "0") != 0;
        if (strcmp(info.name, "autotune") == 0)
            policy.measures = strcmp(info.value, "unset") == 0 ? -1 : strcmp(info.value, "0") != 0;
    }
    return policy;
}

/* To read a setting takes a lock and prints; it is as it was until the count goes up. */
static const struct policy *find_policy(void)
{
    static uint64_t seen;
    static struct policy policy;
    uint64_t now = convop_epoch();
    if (now != seen) {
        policy = read_policy();
        seen = now;
    }
    return &policy;
}

int cvp_py_may_log(void)
{
    return find_policy()->logs;
}

int cvp_py_may_take_long(const convop_conv_params *p)
{
    const struct policy *policy = find_policy();
    if (policy->logs || policy->measures >= 0) return policy->logs || policy->measures;
    return p->cudnn_tune == CONVOP_TUNE_LIMITED_WORKSPACE || p->cudnn_tune == CONVOP_TUNE_FASTEST;
}
