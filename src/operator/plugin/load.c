/* Loading and unloading. No lock is held while code of the plug-in runs. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/common/alloc.h"
#include "src/common/status.h"
#include "src/operator/plugin/plugin.h"

/* Room for the convop_plugin of a later convop's plug-in; the rest of it must be zero. */
union room {
    convop_plugin plugin;
    char bytes[4096];
};

typedef void entry_function(const convop_host *host, convop_plugin *plugin);

void cvp_plugin_note(convop_plugin_handle *plugin, struct cvp_registration *registration)
{
    registration->next = plugin->registrations;
    plugin->registrations = registration;
    if (registration->kind != CVP_PLUGIN_ATTR) cvp_plugin_ref(plugin);
    cvp_plugin_list_count(plugin, registration->kind, 1);
}

static void released(void *plugin)
{
    cvp_plugin_release(plugin);
}

void cvp_plugin_take_back(convop_plugin_handle *plugin)
{
    struct cvp_registration *r;
    while ((r = plugin->registrations) != NULL) {
        plugin->registrations = r->next;
        cvp_plugin_list_count(plugin, r->kind, -1);
        /* One that the program has taken back itself is NOT_FOUND. Who may still use it is then not
         * known: its reference stays, and with it the plug-in. */
        switch (r->kind) {
        case CVP_PLUGIN_OP: convop_op_unregister(r->op, released, plugin); break;
        case CVP_PLUGIN_ROW: convop_conv_impl_unregister(r->row, released, plugin); break;
        case CVP_PLUGIN_ATTR: convop_attr_unregister(r->op_name, r->key, r->level); break;
        case CVP_PLUGIN_KINDS: break;
        }
        cvp_free(r);
    }
}

static void destroy(convop_plugin_handle *plugin)
{
    if (plugin->was_started && plugin->about.exit) plugin->about.exit();
    /* First out of the list, whose entries have their texts in the library. */
    if (plugin->is_listed) cvp_plugin_list_remove(plugin);
    if (plugin->library) dlclose(plugin->library);
    cvp_free(plugin->path);
    cvp_free(plugin);
}

void cvp_plugin_release(convop_plugin_handle *plugin)
{
    if (cvp_plugin_unref(plugin)) destroy(plugin);
}

/* The loader would search for a name without a slash, and its sentences on other files are poor. */
static convop_status check_path(const char *path)
{
    static const char caller[] = "convop_plugin_load";
    struct stat file;
    if (!strchr(path, '/'))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: path \"%s\" has no slash and is not searched for; for a file in "
                           "the current folder write \"./%s\"",
                           caller, path, path);
    if (stat(path, &file) != 0) {
        int missing = errno == ENOENT || errno == ENOTDIR;
        return convop_fail(missing ? CONVOP_E_NOT_FOUND : CONVOP_E_IO, "%s: %s: %s", caller, path,
                           strerror(errno));
    }
    if (!S_ISREG(file.st_mode))
        return convop_fail(CONVOP_E_INVALID, "%s: %s is %s, no shared object", caller, path,
                           S_ISDIR(file.st_mode) ? "a folder" : "no regular file");
    return CONVOP_OK;
}

/* Opens the library, once. */
static convop_status open_library(convop_plugin_handle *plugin)
{
    static const char caller[] = "convop_plugin_load";
    CVP_RETURN_IF_ERROR(check_path(plugin->path));
    plugin->library = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library) {
        const char *why = dlerror();
        return convop_fail(CONVOP_E_INVALID, "%s: %s cannot be opened: %s", caller, plugin->path,
                           why ? why : "no reason given");
    }
    if (!cvp_plugin_list_add(plugin))
        return convop_fail(CONVOP_E_STATE, "%s: %s is loaded, or was unloaded and is still in use",
                           caller, plugin->path);
    return CONVOP_OK;
}

/* Lets the plug-in say what it is. */
static convop_status ask(convop_plugin_handle *plugin)
{
    void *symbol = dlsym(plugin->library, "convop_plugin_entry");
    if (!symbol)
        return convop_fail(CONVOP_E_INVALID,
                           "convop_plugin_load: %s does not export convop_plugin_entry: it is no "
                           "plug-in",
                           plugin->path);
    entry_function *entry;
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast for it */
    union room room;
    memset(&room, 0, sizeof room);
    cvp_plugin_host_init(plugin);
    entry(&plugin->host, &room.plugin);
    CVP_RETURN_IF_ERROR(cvp_plugin_agree(plugin, &room.plugin));
    cvp_plugin_list_show(plugin);
    return CONVOP_OK;
}

static convop_status start(convop_plugin_handle *plugin)
{
    plugin->starter = pthread_self();
    plugin->is_starting = plugin->was_started = 1;
    convop_status status = plugin->about.init(&plugin->host);
    plugin->is_starting = 0;
    if (status == CONVOP_OK) return CONVOP_OK;
    return convop_fail(status, "convop_plugin_load: %s: init: %s", plugin->path,
                       convop_last_error());
}

convop_status convop_plugin_load(const char *path, convop_plugin_handle **out)
{
    if (!out) return convop_fail(CONVOP_E_INVALID, "convop_plugin_load: out is NULL");
    *out = NULL;
    if (!path) return convop_fail(CONVOP_E_INVALID, "convop_plugin_load: path is NULL");
    convop_plugin_handle *plugin = cvp_calloc(1, sizeof *plugin);
    if (plugin) plugin->path = cvp_strdup(path);
    if (!plugin || !plugin->path) {
        cvp_free(plugin);
        return convop_fail(CONVOP_E_NO_MEMORY, "convop_plugin_load: %s: no memory", path);
    }
    convop_status status = open_library(plugin);
    if (status == CONVOP_OK) status = ask(plugin);
    if (status == CONVOP_OK) status = start(plugin);
    if (status == CONVOP_OK) {
        *out = plugin;
        return CONVOP_OK;
    }
    /* The sentence outlasts what exit() may fail at. */
    char why[1024];
    snprintf(why, sizeof why, "%s", convop_last_error());
    cvp_plugin_list_set_unloaded(plugin);
    cvp_plugin_take_back(plugin);
    if (plugin->is_listed)
        cvp_plugin_release(plugin);
    else
        destroy(plugin);
    return convop_fail(status, "%s", why);
}

void convop_plugin_unload(convop_plugin_handle **plugin)
{
    if (!plugin || !*plugin) return;
    convop_plugin_handle *was = *plugin;
    *plugin = NULL;
    cvp_plugin_list_set_unloaded(was);
    cvp_plugin_take_back(was);
    cvp_plugin_release(was);
}
