/* Reading the JSON of a GPU's properties: an object of numbers, texts and lists of numbers. cuDNN
 * reads it too, but does not say what is wrong with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/status.h"
#include "src/cuda/properties.h"

/* All that cuDNN 9 wants. */
static const char *const wanted[] = {
    "maxGridSize",
    "maxBlockSize",
    "regsPerBlock",
    "multiProcessorCount",
    "warpSize",
    "maxSharedMemoryPerBlock",
    "maxSharedMemoryPerBlockOptin",
    "reservedSharedMemoryPerBlock",
    "maxRegistersPerSM",
    "maxCtasPerSM",
    "maxThreadsPerBlock",
    "maxThreadsPerSM",
    "pciDeviceId",
    "isTccDriver",
    "supportCoopLaunch",
    "totalGlobalMem",
    "smClockRateKHz",
    "memClockRateKHz",
    "l2CacheSize",
    "cudaDeviceId",
    "deviceVer",
    "driverVer",
    "deviceName",
};
#define NUM_WANTED (sizeof wanted / sizeof wanted[0])

struct reader {
    const char *begin, *at;
    char key[64], text[96]; /* the last key, and its value where that is a text */
    long long number;       /* ... or a number */
};

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static int take(struct reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c) return 0;
    r->at++;
    return 1;
}

/* A text without escapes, which names of GPUs and of properties have none of. */
static int take_text(struct reader *r, char *to, size_t size)
{
    if (!take(r, '"')) return 0;
    const size_t length = strcspn(r->at, "\"\\\n");
    if (r->at[length] != '"' || length >= size) return 0;
    memcpy(to, r->at, length);
    to[length] = '\0';
    r->at += length + 1;
    return 1;
}

static int take_number(struct reader *r)
{
    char *end;
    skip_blanks(r);
    if (*r->at != '-' && (*r->at < '0' || *r->at > '9')) return 0;
    r->number = strtoll(r->at, &end, 10);
    r->at = end;
    return 1;
}

static int take_value(struct reader *r)
{
    skip_blanks(r);
    if (*r->at == '"') return take_text(r, r->text, sizeof r->text);
    if (*r->at != '[') return take_number(r);
    r->at++;
    do {
        if (!take_number(r)) return 0;
    } while (take(r, ','));
    return take(r, ']');
}

static convop_status fail_at(const struct reader *r)
{
    return convop_fail(CONVOP_E_INVALID,
                       "the properties of a GPU: not JSON as cuDNN writes it: %s "
                       "at byte %zu",
                       *r->at ? "an error" : "the end", (size_t)(r->at - r->begin));
}

static void set(struct cvp_gpu *gpu, const struct reader *r)
{
    if (strcmp(r->key, "deviceName") == 0) snprintf(gpu->name, sizeof gpu->name, "%s", r->text);
    if (strcmp(r->key, "multiProcessorCount") == 0) gpu->processors = (int)r->number;
    if (strcmp(r->key, "totalGlobalMem") == 0) gpu->memory = (size_t)r->number;
    if (strcmp(r->key, "driverVer") == 0) gpu->driver = (int)r->number;
    if (strcmp(r->key, "deviceVer") == 0) {
        gpu->major = (int)(r->number / 100);
        gpu->minor = (int)(r->number / 10 % 10);
    }
}

convop_status cvp_gpu_parse(const char *json, struct cvp_gpu *gpu)
{
    struct reader r = {.begin = json, .at = json};
    unsigned char seen[NUM_WANTED] = {0};
    *gpu = (struct cvp_gpu){.ordinal = -1};
    if (!take(&r, '{')) return fail_at(&r);
    do {
        if (!take_text(&r, r.key, sizeof r.key) || !take(&r, ':') || !take_value(&r))
            return fail_at(&r);
        for (size_t i = 0; i < NUM_WANTED; i++) seen[i] |= strcmp(wanted[i], r.key) == 0;
        set(gpu, &r);
    } while (take(&r, ','));
    if (!take(&r, '}')) return fail_at(&r);
    skip_blanks(&r);
    if (*r.at) return fail_at(&r);
    for (size_t i = 0; i < NUM_WANTED; i++)
        if (!seen[i])
            return convop_fail(CONVOP_E_INVALID, "the properties of a GPU: %s is missing",
                               wanted[i]);
    cvp_gpu_set_key(gpu);
    return CONVOP_OK;
}
