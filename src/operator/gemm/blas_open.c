/* Finds OpenBLAS by name, once a process, and never closes it.
 *
 * The lock is held through the loader and the test, and by whoever forks: a forked child finds
 * OpenBLAS untouched, loaded or ready. It is taken before the locks of src/common, whose fork
 * handlers are therefore registered first (by reading the setting).
 *
 * OpenBLAS has a fork handler of its own, which ends its threads: a product that waits for them in
 * another thread would wait forever. So who tests holds a second lock, and whoever forks takes it
 * before that handler runs: fork handlers run the last one first, and this one is registered when
 * OpenBLAS has been loaded. It is taken before the first. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "src/common/settings.h"
#include "src/common/text.h"
#include "src/operator/gemm/blas_table.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, testing = PTHREAD_MUTEX_INITIALIZER;
static atomic_int known; /* everything below is final */
static atomic_int forked;
static int watching, watching_test, found;
static int loaded; /* the table is filled, and not tested yet */
static struct cvp_blas table;
static char named[256], loader_text[256];
static const char *reason; /* why it is not used */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    if (found) atomic_store(&forked, 1);
    /* It may be another thread's, which came to test while this one forked. */
    pthread_mutex_init(&testing, NULL);
    pthread_mutex_unlock(&lock);
}

static void before_fork_of_loaded(void)
{
    pthread_mutex_lock(&testing);
}

static void after_fork_of_loaded(void)
{
    pthread_mutex_unlock(&testing);
}

/* memcpy: ISO C has no conversion from void * to a function pointer. */
static int resolve(void *handle, const char *symbol, void *function)
{
    void *address = dlsym(handle, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void *open_first(void)
{
    static const char *const usual[] = {"libopenblas.so.0", "libopenblas.so"};
    if (named[0]) {
        table.name = named;
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        table.name = usual[i];
        void *handle = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) return handle;
    }
    return NULL;
}

/* NULL if the table is complete. */
static const char *fill_table(void)
{
    void *handle = open_first();
    if (!handle) {
        const char *said = dlerror();
        struct cvp_text text = cvp_text_in(loader_text, sizeof loader_text);
        cvp_text_add(&text, "%s", said ? said : "");
        return named[0] ? "the library that the setting openblas_library names cannot be opened"
                        : "no OpenBLAS was found";
    }
    if (!resolve(handle, "openblas_get_num_threads", &table.num_threads))
        return "the library that was opened is not an OpenBLAS";
    resolve(handle, "openblas_get_parallel", &table.parallel);
    resolve(handle, "openblas_get_config", &table.config);
    resolve(handle, "openblas_get_corename", &table.corename);
    found = 1;
    if (!resolve(handle, "cblas_sgemm", &table.sgemm) ||
        !resolve(handle, "cblas_dgemm", &table.dgemm))
        return "the OpenBLAS that was found was built without its C interface";
    if (table.config && strstr(table.config(), "USE64BITINT"))
        return "the OpenBLAS that was found takes 64-bit integers";
    return NULL;
}

static void load(void)
{
    reason = strcmp(named, "none") == 0 ? "the setting openblas_library is \"none\"" : fill_table();
    loaded = reason == NULL;
    if (!loaded)
        atomic_store(&known, 1);
    else if (!watching_test)
        watching_test =
            pthread_atfork(before_fork_of_loaded, after_fork_of_loaded, NULL) == 0 ? 1 : -1;
}

/* Of what is loaded. After a failure for want of memory it is tested again at the next call. */
static void test(void)
{
    const convop_status status = cvp_blas_check(&table);
    reason = status == CONVOP_OK ? NULL
             : status == CONVOP_E_NO_MEMORY
                 ? "there is no memory for the test of the OpenBLAS that was found"
                 : "the OpenBLAS that was found gave a wrong known answer";
    if (status != CONVOP_E_NO_MEMORY) atomic_store(&known, 1);
}

const struct cvp_blas *cvp_blas_open(const char **why)
{
    if (!atomic_load(&known)) {
        char setting[sizeof named];
        if (cvp_setting_text(CVP_SETTING_OPENBLAS_LIBRARY, setting, sizeof setting) != CONVOP_OK) {
            *why = "the setting openblas_library cannot be read";
            return NULL;
        }
        pthread_mutex_lock(&lock);
        if (!watching)
            watching = pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0 ? 1 : -1;
        if (!atomic_load(&known) && !loaded) {
            memcpy(named, setting, sizeof named);
            load();
        }
        pthread_mutex_unlock(&lock);

        pthread_mutex_lock(&testing);
        pthread_mutex_lock(&lock);
        if (!atomic_load(&known)) test();
        const char *now = reason;
        pthread_mutex_unlock(&lock);
        pthread_mutex_unlock(&testing);
        *why = now;
        return now ? NULL : &table;
    }
    *why = reason;
    return reason ? NULL : &table;
}

int cvp_blas_was_forked(void)
{
    return atomic_load(&forked);
}

const char *cvp_blas_loader_text(void)
{
    return atomic_load(&known) ? loader_text : "";
}

const struct cvp_blas *cvp_blas_found(void)
{
    return atomic_load(&known) && found ? &table : NULL;
}
