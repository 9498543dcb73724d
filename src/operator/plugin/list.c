/* The list of plug-ins, and the numbers that more than one thread changes. */
#include <stdio.h>

#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/operator/plugin/plugin.h"

static convop_plugin_handle *plugins; /* the first loaded first */

int cvp_plugin_list_add(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    convop_plugin_handle **at = &plugins;
    while (*at && (*at)->library != plugin->library) at = &(*at)->next;
    int is_new = !*at;
    if (is_new) {
        *at = plugin;
        plugin->next = NULL;
        plugin->refs = 1;
        plugin->is_listed = 1;
    }
    cvp_unlock(CVP_LOCK_PLUGINS);
    return is_new;
}

void cvp_plugin_list_remove(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    convop_plugin_handle **at = &plugins;
    while (*at && *at != plugin) at = &(*at)->next;
    if (*at) *at = plugin->next;
    cvp_unlock(CVP_LOCK_PLUGINS);
}

void cvp_plugin_list_count(convop_plugin_handle *plugin, enum cvp_plugin_kind kind, int change)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    plugin->count[kind] += change;
    cvp_unlock(CVP_LOCK_PLUGINS);
}

void cvp_plugin_list_show(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    plugin->is_known = 1;
    cvp_unlock(CVP_LOCK_PLUGINS);
}

void cvp_plugin_list_set_unloaded(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    plugin->is_unloaded = 1;
    cvp_unlock(CVP_LOCK_PLUGINS);
}

void cvp_plugin_ref(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    plugin->refs++;
    cvp_unlock(CVP_LOCK_PLUGINS);
}

int cvp_plugin_unref(convop_plugin_handle *plugin)
{
    cvp_lock(CVP_LOCK_PLUGINS);
    int last = --plugin->refs == 0;
    cvp_unlock(CVP_LOCK_PLUGINS);
    return last;
}

static void fill(convop_plugin_info *info, const convop_plugin_handle *plugin)
{
    snprintf(info->name, sizeof info->name, "%s", plugin->about.name);
    snprintf(info->version, sizeof info->version, "%s", plugin->about.version);
    snprintf(info->path, sizeof info->path, "%s", plugin->path);
    info->unloaded = plugin->is_unloaded;
    info->num_ops = plugin->count[CVP_PLUGIN_OP];
    info->num_conv_impls = plugin->count[CVP_PLUGIN_ROW];
    info->num_attrs = plugin->count[CVP_PLUGIN_ATTR];
}

convop_status convop_plugin_list(convop_plugin_info *list, size_t *count)
{
    if (!count || (!list && *count > 0))
        return convop_fail(CONVOP_E_INVALID, "convop_plugin_list: %s is NULL",
                           count ? "list" : "count");
    size_t n = 0;
    cvp_lock(CVP_LOCK_PLUGINS);
    for (const convop_plugin_handle *p = plugins; p; p = p->next) {
        if (!p->is_known) continue;
        if (n < *count) fill(&list[n], p);
        n++;
    }
    cvp_unlock(CVP_LOCK_PLUGINS);
    *count = n;
    return CONVOP_OK;
}
