/* Plug-ins: shared objects that bring operators, rows of Convolution and attributes.
 *
 * A plug-in links nothing of convop. It exports one function, convop_plugin_entry(), and gets all
 * that it calls in a table. docs/plugins.md shows how to write one. Since 0.1. */
#ifndef CONVOP_PLUGIN_H
#define CONVOP_PLUGIN_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/conv_impl.h"
#include "convop/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The agreement between a convop and its plug-ins that these headers describe. It counts up when a
 *  plug-in must be changed or compiled anew; more members at the end of convop_host or of
 *  convop_plugin do not count. */
#define CONVOP_PLUGIN_ABI 1

/* ---- for plug-ins -------------------------------------------------------------------------- */

/** A plug-in that a program has loaded. */
typedef struct convop_plugin_handle convop_plugin_handle;

/** What convop offers to a plug-in; the same calls as in convop's headers, where not said
 * otherwise. The table is the plug-in's own, and valid until its exit() has returned. */
typedef struct convop_host {
    size_t struct_size;           /* members behind it are not there */
    int abi;                      /* in entry: convop's highest; from init on: the one agreed on */
    const char *version;          /* of convop, "0.1.0" */
    convop_plugin_handle *plugin; /* for convop */

    convop_status (*fail)(convop_status status, const char *format, ...)
#ifdef __GNUC__
        __attribute__((format(printf, 2, 3)))
#endif
        ;
    const char *(*last_error)(void);

    /** Register for as long as the plug-in is loaded. Only within init(), in its thread; STATE
     *  elsewhere. What was registered is taken back by convop, also if init() fails. */
    convop_status (*op_register)(const struct convop_host *host, const convop_op *op);
    convop_status (*conv_impl_register)(const struct convop_host *host,
                                        const convop_conv_impl *impl);
    convop_status (*attr_register)(const struct convop_host *host, const char *op_name,
                                   const convop_attr *attr, int level);

    convop_status (*op_find)(const char *name, const convop_op **op);
    void (*op_release)(const convop_op **op);
    convop_status (*op_attr)(const convop_op *op, const char *key, const char *type,
                             const void **value);
    convop_status (*invoke)(const char *name, size_t num_params, const char *const *keys,
                            const char *const *values, int num_inputs,
                            const DLTensor *const *inputs, int num_outputs,
                            DLTensor *const *outputs, const convop_request *requests,
                            const convop_exec *exec);

    void (*parallel)(const convop_context *context, int64_t n,
                     void (*body)(void *arg, int lane, int64_t begin, int64_t end), void *arg);
    int (*num_threads)(const convop_context *context);

    /** Writes one line if the setting "verbose" is at least `level` (1 or more). context NULL: to
     *  the process sink. */
    void (*log)(const struct convop_host *host, const convop_context *context, int level,
                const char *format, ...)
#ifdef __GNUC__
        __attribute__((format(printf, 4, 5)))
#endif
        ;
} convop_host;

/** What a plug-in says of itself. Texts and functions stay valid while it is loaded. */
typedef struct convop_plugin {
    size_t struct_size;   /* sizeof(convop_plugin) of the plug-in */
    int abi_min, abi_max; /* the values of CONVOP_PLUGIN_ABI that it works with */
    const char *name, *version;
    const char *doc; /* may be NULL */
    /** Registers. A failure, with a sentence from host->fail(), is that of the load. */
    convop_status (*init)(const convop_host *host);
    /** Called once for each init(), also if that failed, when nothing uses the plug-in any more;
     *  gives back what init() took. On any thread. NULL: there is nothing to do. */
    void (*exit)(void);
} convop_plugin;

#if defined(_WIN32)
#define CONVOP_PLUGIN_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define CONVOP_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define CONVOP_PLUGIN_EXPORT
#endif

/** The one function that a plug-in exports. It fills *plugin, which is zeroed, and no more: of host
 *  it may only read, since nobody has agreed on an ABI yet. */
CONVOP_PLUGIN_EXPORT void convop_plugin_entry(const convop_host *host, convop_plugin *plugin);

/* ---- for programs -------------------------------------------------------------------------- */

/** Loads a plug-in and runs its init(). No lock is held while code of the plug-in runs.
 *  @param path  as the system sees it, with a slash: no folders are searched
 *  @param out   to be unloaded by the caller; NULL on failure, and then all that the plug-in had
 *               registered is taken back
 *  @return NOT_FOUND: there is no such file; IO: it cannot be looked at; INVALID: it is no plug-in
 *          or an incomplete one; UNSUPPORTED: no ABI in common; STATE: the file is loaded, or was
 *          unloaded and is still in use; NO_MEMORY; or what init() answered. Thread-safe. */
CONVOP_API convop_status convop_plugin_load(const char *path, convop_plugin_handle **out);

/** Takes back all that the plug-in registered and sets *plugin to NULL: its operators are found no
 *  more, new plans do not have its rows. Its exit() runs, and its code goes, when the last operator
 *  reference, instance and plan that uses it has gone: before this returns, or later in the thread
 *  that drops it. Values of attributes that it attached to operators of others must not be in use.
 *  Accepts NULL. Not from inside the plug-in's own code. Thread-safe. */
CONVOP_API void convop_plugin_unload(convop_plugin_handle **plugin);

/** A plug-in as listed. Texts that are longer are cut off. */
typedef struct convop_plugin_info {
    char name[64], version[32], path[256];
    int unloaded;                           /* 1: taken back, but still in use */
    int num_ops, num_conv_impls, num_attrs; /* that are registered */
} convop_plugin_info;

/** Lists the plug-ins that are in the process, the first loaded first.
 *  @param list   room for *count, may be NULL if *count is 0
 *  @param count  in: room; out: how many there are, whatever the room
 *  @return INVALID for a NULL. Thread-safe. */
CONVOP_API convop_status convop_plugin_list(convop_plugin_info *list, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
