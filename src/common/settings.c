/* The settings: one table, what the environment and calls say, and the values that follow.
 *
 * Texts are guarded by CVP_LOCK_SETTINGS. Values are cached in one atomic word each, so that hot
 * paths take no lock; they are only written under the lock. */
#include "src/common/settings.h"

#include "convop/context.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/epoch.h"
#include "src/common/lock.h"
#include "src/common/status.h"
#include "src/common/text.h"

#define TEXT_SIZE sizeof(((convop_setting_info *)NULL)->value)

enum kind { NUMBER, CHOICE, TEXT };

struct setting {
    const char *name, *environment, *doc, *values, *initial;
    enum kind kind;
    int min, max;               /* NUMBER: both allowed. CHOICE: min is the first choice's value */
    const char *const *choices; /* CHOICE: ends with NULL */
    const char *const *words;   /* CHOICE: a second name of each choice, or NULL */
};

static const char *const engines[] = {"naive", "threaded", NULL};
static const char *const maths[] = {"strict", "default", "tf32", NULL};
static const char *const isas[] = {"auto", "baseline", "avx2", "avx512", "amx", "neon", NULL};

/* As digits, and by the words of the operator's parameter. */
static const char *const autotunes[] = {"unset", "0", "1", "2", NULL};
static const char *const autotune_words[] = {"unset", "off", "limited_workspace", "fastest"};

static const struct setting table[CVP_SETTING_COUNT] = {
    [CVP_SETTING_AUTOTUNE] = {"autotune", "CONVOP_AUTOTUNE",
                              "Whether rows compete by measurement: 0 off, 1 within the workspace "
                              "limit, 2 the fastest.",
                              "unset, 0 (off), 1 (limited_workspace), 2 (fastest)", "unset", CHOICE,
                              CVP_AUTOTUNE_UNSET, CVP_AUTOTUNE_FASTEST, autotunes, autotune_words},
    [CVP_SETTING_CACHE_DIR] = {"cache_dir", "CONVOP_CACHE_DIR",
                               "The folder of the tuning cache; empty: the user's cache folder.",
                               "a path, or none", "", TEXT, 0, 0, NULL, NULL},
    [CVP_SETTING_CUDA_LIBRARY] = {"cuda_library", "CONVOP_CUDA_LIBRARY",
                                  "The CUDA driver to open; empty: the system's.",
                                  "a path, a soname, or none", "", TEXT, 0, 0, NULL, NULL},
    [CVP_SETTING_CUDNN_LIBRARY] = {"cudnn_library", "CONVOP_CUDNN_LIBRARY",
                                   "The cuDNN to open; empty: the one that the program has "
                                   "loaded, else the system's.",
                                   "a path, a soname, or none", "", TEXT, 0, 0, NULL, NULL},
    [CVP_SETTING_DETERMINISTIC] = {"deterministic", "CONVOP_DETERMINISTIC",
                                   "Whether the same inputs give the same bits, whatever the "
                                   "number of threads.",
                                   "0..1", "1", NUMBER, 0, 1, NULL, NULL},
    [CVP_SETTING_ENGINE] = {"engine", "CONVOP_ENGINE", "The kind of a new engine.",
                            "naive, threaded", "threaded", CHOICE, 0, 1, engines, NULL},
    [CVP_SETTING_IMPL] = {"impl", "CONVOP_IMPL",
                          "The implementation row to run, where one has that name, or nothing.",
                          "the name of a row", "", TEXT, 0, 0, NULL, NULL},
    [CVP_SETTING_ISA] = {"isa", "CONVOP_ISA", "The highest instruction set in use.",
                         "auto, baseline, avx2, avx512, amx, neon", "auto", CHOICE, CVP_ISA_AUTO,
                         CVP_ISA_NEON, isas, NULL},
    [CVP_SETTING_LIGHT_WORK] =
        {"light_work", "CONVOP_LIGHT_WORK",
         "Microseconds: what is estimated to take one thread less time stays "
         "on the calling thread.",
         "0..1000000", "20", NUMBER, 0, 1000000, NULL, NULL},
    [CVP_SETTING_MATH] = {"math", "CONVOP_MATH",
                          "How far results may be off for speed: strict, no further than sums of "
                          "products are; default, rows with a wider bound too; tf32, TF32 too.",
                          "strict, default, tf32", "default", CHOICE, CONVOP_MATH_STRICT,
                          CONVOP_MATH_TF32, maths, NULL},
    [CVP_SETTING_NUM_THREADS] = {"num_threads", "CONVOP_NUM_THREADS",
                                 "Threads of a parallel loop; 0: as affinity and the cgroup allow.",
                                 "0..4096", "0", NUMBER, 0, 4096, NULL, NULL},
    [CVP_SETTING_OPENBLAS_LIBRARY] = {"openblas_library", "CONVOP_OPENBLAS_LIBRARY",
                                      "The OpenBLAS to open; empty: the system's.",
                                      "a path, a soname, or none", "", TEXT, 0, 0, NULL, NULL},
    [CVP_SETTING_TUNE_BATCH_BUCKET] = {"tune_batch_bucket", "CONVOP_TUNE_BATCH_BUCKET",
                                       "Whether batches up to the same power of two share what "
                                       "was measured.",
                                       "0..1", "0", NUMBER, 0, 1, NULL, NULL},
    [CVP_SETTING_TUNE_BUDGET] = {"tune_budget", "CONVOP_TUNE_BUDGET",
                                 "Milliseconds that measuring one problem may take.", "1..3600000",
                                 "1000", NUMBER, 1, 3600000, NULL, NULL},
    [CVP_SETTING_TUNE_VERIFY] = {"tune_verify", "CONVOP_TUNE_VERIFY",
                                 "Whether a row must give the first one's result to win.", "0..1",
                                 "0", NUMBER, 0, 1, NULL, NULL},
    [CVP_SETTING_TUNE_WAIT] = {"tune_wait", "CONVOP_TUNE_WAIT",
                               "Whether a thread waits for what another is measuring; 0: it takes "
                               "the estimate.",
                               "0..1", "1", NUMBER, 0, 1, NULL, NULL},
    [CVP_SETTING_VERBOSE] = {"verbose", "CONVOP_VERBOSE",
                             "1: a line for each primitive that ran; 2: and how it was chosen; "
                             "3: and what estimates count and engines do.",
                             "0..3", "0", NUMBER, 0, 3, NULL, NULL},
};

/* Guarded by CVP_LOCK_SETTINGS. Texts are cut off one byte too late, so that a long one shows. */
static struct {
    int read; /* the environment has been read */
    struct {
        char environment[TEXT_SIZE + 1], call[TEXT_SIZE + 1];
        int has_environment, has_call;
    } of[CVP_SETTING_COUNT];
} texts;

/* UNKNOWN, BAD (does not parse) or KNOWN with the value in the low 32 bits. */
#define UNKNOWN UINT64_C(0)
#define BAD     (UINT64_C(1) << 32)
#define KNOWN   (UINT64_C(2) << 32)
static _Atomic uint64_t cache[CVP_SETTING_COUNT];

static int parse_number(const char *text, int min, int max, int *value)
{
    if (text[0] != '-' && (text[0] < '0' || text[0] > '9')) return 0;
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < min || v > max) return 0;
    *value = (int)v;
    return 1;
}

/* 1 if the text is allowed; *value is then the number, the choice's value, or whether a text holds
 * anything. */
static int parse(const struct setting *s, const char *text, int *value)
{
    if (s->kind == NUMBER) return parse_number(text, s->min, s->max, value);
    if (s->kind == TEXT) {
        *value = text[0] != '\0';
        return strlen(text) < TEXT_SIZE;
    }
    for (int i = 0; s->choices[i] != NULL; i++) {
        if (strcmp(text, s->choices[i]) == 0 ||
            (s->words != NULL && strcmp(text, s->words[i]) == 0)) {
            *value = s->min + i;
            return 1;
        }
    }
    return 0;
}

/* The text in force and where it is from. Under the lock, once the environment has been read. */
static const char *in_force(int i, convop_origin *origin)
{
    if (texts.of[i].has_call) return *origin = CONVOP_ORIGIN_CALL, texts.of[i].call;
    if (texts.of[i].has_environment)
        return *origin = CONVOP_ORIGIN_ENVIRONMENT, texts.of[i].environment;
    return *origin = CONVOP_ORIGIN_DEFAULT, table[i].initial;
}

/* Parses what is in force and caches it. Under the lock. */
static void refresh(int i)
{
    convop_origin origin;
    int value = 0;
    int good = parse(&table[i], in_force(i, &origin), &value);
    uint64_t word = good ? KNOWN | (uint32_t)value : BAD;
    atomic_store_explicit(&cache[i], word, memory_order_relaxed);
}

/* Reads and parses it once, all of it: so no later call waits for a first use. Under the lock.
 * secure_getenv: in a program with more rights than its user, the user must not choose what is
 * loaded. An empty variable counts as unset, as shells have it. */
static void read_environment(void)
{
    if (texts.read) return;
    texts.read = 1;
    for (int i = 0; i < CVP_SETTING_COUNT; i++) {
        const char *text = secure_getenv(table[i].environment);
        if (text != NULL && text[0] != '\0') {
            texts.of[i].has_environment = 1;
            snprintf(texts.of[i].environment, sizeof(texts.of[i].environment), "%s", text);
        }
        refresh(i);
    }
}

/* Nothing but the word itself is published, so relaxed order will do. */
static uint64_t cached(int i)
{
    uint64_t word = atomic_load_explicit(&cache[i], memory_order_relaxed);
    if (word != UNKNOWN) return word;
    cvp_lock(CVP_LOCK_SETTINGS);
    read_environment();
    word = atomic_load_explicit(&cache[i], memory_order_relaxed);
    cvp_unlock(CVP_LOCK_SETTINGS);
    return word;
}

/* Only the environment can hold what does not parse: convop_set refuses it. */
static convop_status fail_environment(int i)
{
    char text[TEXT_SIZE + 1];
    cvp_lock(CVP_LOCK_SETTINGS);
    memcpy(text, texts.of[i].environment, sizeof(text));
    cvp_unlock(CVP_LOCK_SETTINGS);
    if (table[i].kind == TEXT)
        return convop_fail(CONVOP_E_INVALID, "%s=%.64s...: longer than %zu bytes",
                           table[i].environment, text, TEXT_SIZE - 1);
    return convop_fail(CONVOP_E_INVALID, "%s=%s: want %s", table[i].environment, text,
                       table[i].values);
}

convop_status cvp_setting_int(enum cvp_setting setting, int *value)
{
    uint64_t word = cached((int)setting);
    if (word == BAD) return fail_environment((int)setting);
    *value = (int)(int32_t)(uint32_t)word;
    return CONVOP_OK;
}

int cvp_setting_int_or(enum cvp_setting setting, int fallback)
{
    uint64_t word = cached((int)setting);
    return word == BAD ? fallback : (int)(int32_t)(uint32_t)word;
}

convop_status cvp_setting_text(enum cvp_setting setting, char *value, size_t size)
{
    int i = (int)setting;
    uint64_t word = cached(i);
    if (word == BAD) return fail_environment(i);
    /* An empty text is what hot paths find, and needs no lock to be copied. */
    if (word == KNOWN && size > 0) {
        value[0] = '\0';
        return CONVOP_OK;
    }
    convop_origin origin;
    cvp_lock(CVP_LOCK_SETTINGS);
    const char *text = in_force(i, &origin);
    size_t length = strlen(text);
    int fits = length < size;
    if (fits) memcpy(value, text, length + 1);
    cvp_unlock(CVP_LOCK_SETTINGS);
    if (!fits)
        return convop_fail(CONVOP_E_INTERNAL, "setting %s: %zu bytes do not fit into %zu",
                           table[i].name, length, size);
    return CONVOP_OK;
}

static int find(const char *name)
{
    for (int i = 0; i < CVP_SETTING_COUNT; i++)
        if (strcmp(name, table[i].name) == 0) return i;
    return -1;
}

static convop_status fail_name(const char *name)
{
    const char *names[CVP_SETTING_COUNT];
    for (int i = 0; i < CVP_SETTING_COUNT; i++) names[i] = table[i].name;
    const char *near = cvp_nearest(name, names, CVP_SETTING_COUNT);
    return convop_fail(CONVOP_E_NOT_FOUND, "convop_set: there is no setting '%s'%s%s%s", name,
                       near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'?" : "");
}

convop_status convop_set(const char *name, const char *value)
{
    if (name == NULL) return convop_fail(CONVOP_E_INVALID, "convop_set: name is NULL");
    int i = find(name), parsed;
    if (i < 0) return fail_name(name);
    if (value != NULL && !parse(&table[i], value, &parsed)) {
        if (table[i].kind == TEXT)
            return convop_fail(CONVOP_E_INVALID, "convop_set: %s is longer than %zu bytes", name,
                               TEXT_SIZE - 1);
        return convop_fail(CONVOP_E_INVALID, "convop_set: %s is '%s', want %s", name, value,
                           table[i].values);
    }
    cvp_lock(CVP_LOCK_SETTINGS);
    read_environment();
    texts.of[i].has_call = value != NULL;
    if (value != NULL) snprintf(texts.of[i].call, sizeof(texts.of[i].call), "%s", value);
    refresh(i);
    cvp_unlock(CVP_LOCK_SETTINGS);
    cvp_epoch_advance();
    return CONVOP_OK;
}

convop_status convop_setting_at(size_t index, convop_setting_info *info)
{
    convop_setting_info all = {.struct_size = sizeof(all)};
    if (info == NULL) return convop_fail(CONVOP_E_INVALID, "convop_setting_at: info is NULL");
    size_t size = info->struct_size;
    if (size < sizeof(size))
        return convop_fail(CONVOP_E_INVALID, "convop_setting_at: struct_size is %zu, want %zu",
                           size, sizeof(all));
    if (index >= CVP_SETTING_COUNT)
        return convop_fail(CONVOP_E_NOT_FOUND, "convop_setting_at: index %zu, there are %d", index,
                           (int)CVP_SETTING_COUNT);
    const struct setting *s = &table[index];
    all.struct_size = size;
    all.name = s->name;
    all.environment = s->environment;
    all.doc = s->doc;
    all.values = s->values;
    int value = 0;
    cvp_lock(CVP_LOCK_SETTINGS);
    read_environment();
    const char *text = in_force((int)index, &all.origin);
    int good = parse(s, text, &value);
    /* Cut off on purpose: the text may be one byte longer than a value can be. */
    struct cvp_text out = cvp_text_in(all.value, sizeof(all.value));
    if (good && s->kind == NUMBER) {
        cvp_text_add(&out, "%d", value);
    } else if (good && s->kind == CHOICE) {
        cvp_text_add(&out, "%s", s->choices[value - s->min]);
    } else {
        cvp_text_add(&out, "%s", text);
    }
    cvp_unlock(CVP_LOCK_SETTINGS);
    all.status = good ? CONVOP_OK : CONVOP_E_INVALID;
    memcpy(info, &all, size < sizeof(all) ? size : sizeof(all));
    return CONVOP_OK;
}
