/* Opening a library by name. The lock is held through the loader and by whoever forks, so that a
 * forked child finds each library either untouched or ready. It is taken before the locks of
 * src/common, whose fork handlers are therefore registered first (by reading the setting). */
#include "src/cuda/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int watching;
static atomic_uint forks;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_child(void)
{
    atomic_fetch_add(&forks, 1);
    after_fork();
}

/* What the host has loaded comes first: a second copy beside it breaks frameworks that bring their
 * own. A name that the user gives is taken at its word. */
static void *open_named(const struct cvp_library *library, const char *named)
{
    if (named[0]) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return handle ? handle : dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
}

/* memcpy: ISO C has no conversion from void * to a function pointer. */
static int fill_table(struct cvp_library *library, void *handle)
{
    for (size_t i = 0; i < library->symbol_count; i++) {
        const struct cvp_symbol *symbol = &library->symbols[i];
        void *address = dlsym(handle, symbol->name);
        if (!address) {
            snprintf(library->why, sizeof library->why, "the library that was opened has no %s",
                     symbol->name);
            return 0;
        }
        memcpy((char *)library->table + symbol->offset, &address, sizeof address);
    }
    return 1;
}

static void open_once(struct cvp_library *library, const char *named)
{
    char *why = library->why;
    if (strcmp(named, "none") == 0) {
        snprintf(why, sizeof library->why, "the setting %s is \"none\"", library->setting_name);
        return;
    }
    void *handle = open_named(library, named);
    if (!handle) {
        const char *said = dlerror();
        snprintf(why, sizeof library->why, "%s", said ? said : "the loader cannot open it");
        return;
    }
    library->used = fill_table(library, handle) && library->check(why, sizeof library->why);
}

void *cvp_library_open(struct cvp_library *library, const char **why)
{
    if (!atomic_load(&library->known)) {
        char named[256];
        if (cvp_setting_text(library->setting, named, sizeof named) != CONVOP_OK) {
            *why = "the setting that names the library does not parse";
            return NULL;
        }
        pthread_mutex_lock(&lock);
        if (!watching)
            watching = pthread_atfork(before_fork, after_fork, after_fork_child) == 0 ? 1 : -1;
        if (!atomic_load(&library->known)) {
            library->forks = atomic_load(&forks);
            open_once(library, named);
            atomic_store(&library->known, 1);
        }
        pthread_mutex_unlock(&lock);
    }
    *why = library->why;
    return library->used ? library->table : NULL;
}

int cvp_library_is_inherited(const struct cvp_library *library)
{
    return atomic_load(&library->known) && library->forks != atomic_load(&forks);
}

const char *cvp_library_path(const struct cvp_library *library)
{
    Dl_info info;
    void *address;
    memcpy(&address, (const char *)library->table + library->symbols[0].offset, sizeof address);
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}
