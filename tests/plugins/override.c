/* Puts another operator in the place of Convolution. */
#include "tests/plugins/plugin_test.h"

static const convop_op plus = PLUS_OP("Convolution", 20);

static convop_status init(const convop_host *h)
{
    host = h;
    return h->op_register(h, &plus);
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("override", 1, 1, init, count_exit);
}
