/* Speaks a later ABI. */
#include "tests/plugins/plugin_test.h"

static const convop_op plus = PLUS_OP("Plus", 5);

static convop_status init(const convop_host *h)
{
    return h->op_register(h, &plus);
}

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("bad_abi", 7, 9, init, count_exit);
}
