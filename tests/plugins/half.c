/* Forgets its init. */
#include "tests/plugins/plugin_test.h"

CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *h, convop_plugin *plugin)
{
    (void)h;
    *plugin = PLUGIN("half", 1, 1, NULL, count_exit);
}
