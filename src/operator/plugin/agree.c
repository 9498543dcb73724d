/* What a plug-in says of itself: is it complete, and do we speak the same ABI? */
#include <string.h>

#include "src/common/status.h"
#include "src/operator/plugin/plugin.h"

/* The oldest agreement that this convop keeps. */
#define ABI_MIN 1

static convop_status incomplete(const convop_plugin_handle *plugin, const char *member,
                                const char *what)
{
    return convop_fail(CONVOP_E_INVALID, "convop_plugin_load: %s: its %s %s", plugin->path, member,
                       what);
}

convop_status cvp_plugin_agree(convop_plugin_handle *plugin, const convop_plugin *said)
{
    convop_plugin *about = &plugin->about;
    /* abi_min and abi_max come first: a plug-in of another age may have the rest otherwise. */
    if (said->abi_min < 1 || said->abi_max < said->abi_min)
        return convop_fail(CONVOP_E_INVALID,
                           "convop_plugin_load: %s: its ABI range is %d..%d, no range above 0",
                           plugin->path, said->abi_min, said->abi_max);
    if (said->abi_min > CONVOP_PLUGIN_ABI || said->abi_max < ABI_MIN)
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "convop_plugin_load: %s speaks plug-in ABI %d..%d, this convop %s "
                           "speaks %d..%d",
                           plugin->path, said->abi_min, said->abi_max, plugin->host.version,
                           ABI_MIN, CONVOP_PLUGIN_ABI);
    CVP_RETURN_IF_ERROR(cvp_read_struct(about, sizeof *about, said, plugin->path));
    if (!about->name || !about->name[0]) return incomplete(plugin, "name", "is NULL or empty");
    if (!about->version || !about->version[0])
        return incomplete(plugin, "version", "is NULL or empty");
    if (!about->init) return incomplete(plugin, "init", "is NULL");
    plugin->host.abi = about->abi_max < CONVOP_PLUGIN_ABI ? about->abi_max : CONVOP_PLUGIN_ABI;
    return CONVOP_OK;
}
