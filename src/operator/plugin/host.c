/* The table of calls that a plug-in gets, and the record of what it registers through it. */
#include "convop/version.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/common/alloc.h"
#include "src/common/log.h"
#include "src/common/size.h"
#include "src/common/status.h"
#include "src/engine/context.h"
#include "src/operator/plugin/plugin.h"

/* The plug-in whose table it is, if it may register now. */
static convop_status may_register(const convop_host *host, const char *call,
                                  convop_plugin_handle **out)
{
    if (!host) return convop_fail(CONVOP_E_INVALID, "%s: host is NULL", call);
    convop_plugin_handle *plugin = host->plugin;
    /* Only in that one thread: then no unloading can come between a registration and its record. */
    if (!plugin->is_starting || !pthread_equal(plugin->starter, pthread_self()))
        return convop_fail(CONVOP_E_STATE, "%s: plug-in %s may register in its init() only", call,
                           plugin->about.name);
    *out = plugin;
    return CONVOP_OK;
}

static convop_status make_registration(struct cvp_registration **out, enum cvp_plugin_kind kind,
                                       size_t text_bytes, const char *call)
{
    size_t bytes;
    struct cvp_registration *r = NULL;
    if (cvp_add_size(sizeof *r, text_bytes, &bytes)) r = cvp_calloc(1, bytes);
    if (!r) return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory to note it", call);
    r->kind = kind;
    *out = r;
    return CONVOP_OK;
}

static convop_status note_if_ok(convop_status status, convop_plugin_handle *plugin,
                                struct cvp_registration *r)
{
    if (status == CONVOP_OK)
        cvp_plugin_note(plugin, r);
    else
        cvp_free(r);
    return status;
}

static convop_status op_register(const convop_host *host, const convop_op *op)
{
    static const char call[] = "convop_host.op_register";
    convop_plugin_handle *plugin = NULL;
    struct cvp_registration *r = NULL;
    CVP_RETURN_IF_ERROR(may_register(host, call, &plugin));
    CVP_RETURN_IF_ERROR(make_registration(&r, CVP_PLUGIN_OP, 0, call));
    r->op = op;
    return note_if_ok(convop_op_register(op), plugin, r);
}

static convop_status conv_impl_register(const convop_host *host, const convop_conv_impl *impl)
{
    static const char call[] = "convop_host.conv_impl_register";
    convop_plugin_handle *plugin = NULL;
    struct cvp_registration *r = NULL;
    CVP_RETURN_IF_ERROR(may_register(host, call, &plugin));
    CVP_RETURN_IF_ERROR(make_registration(&r, CVP_PLUGIN_ROW, 0, call));
    r->row = impl;
    return note_if_ok(convop_conv_impl_register(impl), plugin, r);
}

static convop_status attr_register(const convop_host *host, const char *op_name,
                                   const convop_attr *attr, int level)
{
    static const char call[] = "convop_host.attr_register";
    convop_plugin_handle *plugin = NULL;
    struct cvp_registration *r = NULL;
    CVP_RETURN_IF_ERROR(may_register(host, call, &plugin));
    /* Its names are ours to keep; what is wrong with them is told by convop_attr_register. */
    const char *key = attr && attr->struct_size == sizeof *attr && attr->key ? attr->key : "";
    const size_t name_bytes = op_name ? strlen(op_name) + 1 : 1, key_bytes = strlen(key) + 1;
    CVP_RETURN_IF_ERROR(make_registration(&r, CVP_PLUGIN_ATTR, name_bytes + key_bytes, call));
    r->op_name = memcpy(r->text, op_name ? op_name : "", name_bytes);
    r->key = memcpy(r->text + name_bytes, key, key_bytes);
    r->level = level;
    return note_if_ok(convop_attr_register(op_name, attr, level), plugin, r);
}

static void write_log(const convop_host *host, const convop_context *context, int level,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
static void write_log(const convop_host *host, const convop_context *context, int level,
                      const char *format, ...)
{
    if (!host || level < 1 || !cvp_verbose(level)) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    cvp_log(context ? &context->sink : NULL, "plugin,%s,%s", host->plugin->about.name, line);
}

void cvp_plugin_host_init(convop_plugin_handle *plugin)
{
    plugin->host = (convop_host){
        .struct_size = sizeof(convop_host),
        .abi = CONVOP_PLUGIN_ABI,
        .version = convop_version_string(),
        .plugin = plugin,
        .fail = convop_fail,
        .last_error = convop_last_error,
        .op_register = op_register,
        .conv_impl_register = conv_impl_register,
        .attr_register = attr_register,
        .op_find = convop_op_find,
        .op_release = convop_op_release,
        .op_attr = convop_op_attr,
        .invoke = convop_invoke,
        .parallel = convop_parallel,
        .num_threads = convop_context_num_threads,
        .log = write_log,
    };
}
