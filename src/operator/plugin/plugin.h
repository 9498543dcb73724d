/* A plug-in inside the library: what it is, what it has registered, and how long it stays.
 *
 * Its references are one of the program, until it unloads it, and one for each operator and row,
 * until the registry says that nobody can reach it. Code of a plug-in only runs while one of these
 * is there, and only convop drops them, after that code has returned; so the last one may close the
 * library wherever it is dropped. */
#ifndef CVP_PLUGIN_H
#define CVP_PLUGIN_H

#include <pthread.h>

#include "convop/plugin.h"

enum cvp_plugin_kind { CVP_PLUGIN_OP, CVP_PLUGIN_ROW, CVP_PLUGIN_ATTR, CVP_PLUGIN_KINDS };

/* Something that a plug-in has registered. */
struct cvp_registration {
    struct cvp_registration *next;
    enum cvp_plugin_kind kind;
    const convop_op *op;
    const convop_conv_impl *row;
    /* Of an attribute; in text. */
    const char *op_name, *key;
    int level;
    char text[];
};

struct convop_plugin_handle {
    convop_host host;
    convop_plugin about;
    char *path;
    void *library;   /* of dlopen */
    int was_started; /* init() was called */

    /* Between init() and its return. */
    _Atomic int is_starting;
    pthread_t starter;

    /* The latest first. Of the thread that loads, then of the one that unloads. */
    struct cvp_registration *registrations;

    /* Guarded by CVP_LOCK_PLUGINS. */
    struct convop_plugin_handle *next;
    int is_listed, is_known, is_unloaded;
    uint64_t refs;
    int count[CVP_PLUGIN_KINDS];
};

/* Fills the table of calls. */
void cvp_plugin_host_init(convop_plugin_handle *plugin);

/* Checks what the plug-in said of itself, and agrees on an ABI. INVALID, UNSUPPORTED. */
convop_status cvp_plugin_agree(convop_plugin_handle *plugin, const convop_plugin *said);

/* Notes what was registered. An operator or a row holds a reference from now on. */
void cvp_plugin_note(convop_plugin_handle *plugin, struct cvp_registration *registration);

/* Takes back all that it registered, the latest first. */
void cvp_plugin_take_back(convop_plugin_handle *plugin);

/* ---- list.c: who is there ------------------------------------------------------------------- */

/* Adds it with one reference. 0 if its library is in the list. */
int cvp_plugin_list_add(convop_plugin_handle *plugin);
/* From now on it is known by its name, and convop_plugin_list shows it. */
void cvp_plugin_list_show(convop_plugin_handle *plugin);
void cvp_plugin_list_remove(convop_plugin_handle *plugin);
void cvp_plugin_list_count(convop_plugin_handle *plugin, enum cvp_plugin_kind kind, int change);
void cvp_plugin_list_set_unloaded(convop_plugin_handle *plugin);
void cvp_plugin_ref(convop_plugin_handle *plugin);
/* 1 if that was the last. */
int cvp_plugin_unref(convop_plugin_handle *plugin);

/* Drops a reference; with the last one goes the plug-in. */
void cvp_plugin_release(convop_plugin_handle *plugin);

#endif
