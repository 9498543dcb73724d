/* Names of directions, types, layouts and devices. */
#include "tools/problems/kinds.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const direction_names[NUM_DIRECTIONS] = {
    [FWD_B] = "FWD_B", [FWD_D] = "FWD_D", [FWD_I] = "FWD_I",
    [BWD_D] = "BWD_D", [BWD_W] = "BWD_W", [BWD_WB] = "BWD_WB",
};

#define MAX_NAMES 8

static const char *const type_names[NUM_TYPES][MAX_NAMES] = {
    [F32] = {"f32", "f32:f32:f32", "f32_wino"},
    [F64] = {"f64", "f64:f64:f64"},
    [F16] = {"f16", "f16:f16:f16", "f16f16f16"},
    [BF16] = {"bf16", "bf16:bf16:bf16", "bf16bf16bf16"},
};

static const char *const tag_names[NUM_TAGS][MAX_NAMES] = {
    [NCHW] = {"nchw", "ncw", "ncdhw", "abx", "abc", "abcd", "abcde"},
    [NHWC] = {"nhwc", "nwc", "ndhwc", "axb", "acb", "acdb", "acdeb"},
};

const char *direction_name(enum direction direction)
{
    return direction_names[direction];
}

const char *type_name(enum type type)
{
    return type_names[type][0];
}

const char *tag_name(enum tag tag)
{
    return tag_names[tag][0];
}

static int is_among(const char *name, const char *const names[MAX_NAMES])
{
    for (int i = 0; i < MAX_NAMES && names[i]; i++)
        if (strcasecmp(name, names[i]) == 0) return 1;
    return 0;
}

int find_direction(const char *name)
{
    for (int i = 0; i < NUM_DIRECTIONS; i++)
        if (strcasecmp(name, direction_names[i]) == 0) return i;
    return -1;
}

int find_type(const char *name)
{
    for (int i = 0; i < NUM_TYPES; i++)
        if (is_among(name, type_names[i])) return i;
    return -1;
}

int find_tag(const char *name)
{
    for (int i = 0; i < NUM_TAGS; i++)
        if (is_among(name, tag_names[i])) return i;
    return -1;
}

int find_device(const char *name, DLDevice *device)
{
    if (strcasecmp(name, "cpu") == 0) {
        *device = (DLDevice){kDLCPU, 0};
        return 1;
    }
    if (strncasecmp(name, "cuda", 4) != 0) return 0;
    *device = (DLDevice){kDLCUDA, 0};
    if (!name[4]) return 1;
    if (name[4] != ':' || name[5] < '0' || name[5] > '9') return 0;
    char *end;
    errno = 0;
    const long number = strtol(name + 5, &end, 10);
    device->device_id = (int)number;
    return !*end && !errno && number <= INT_MAX;
}

convop_conv_direction library_direction(enum direction direction)
{
    switch (direction) {
    case BWD_D: return CONVOP_BWD_D;
    case BWD_W:
    case BWD_WB: return CONVOP_BWD_W;
    default: return CONVOP_FWD;
    }
}

int direction_has_bias(enum direction direction)
{
    return direction == FWD_B || direction == BWD_WB;
}

DLDataType type_dtype(enum type type)
{
    switch (type) {
    case F64: return (DLDataType){kDLFloat, 64, 1};
    case F16: return (DLDataType){kDLFloat, 16, 1};
    case BF16: return (DLDataType){kDLBfloat, 16, 1};
    default: return (DLDataType){kDLFloat, 32, 1};
    }
}

size_t type_bytes(enum type type)
{
    return type_dtype(type).bits / 8u;
}

static const char *const post_ops_names[3][3] = {
    [ADD_NOTHING] = {"", "relu", "clip:0:6"},
    [ADD_DST] = {"sum", "sum+relu", "sum+clip:0:6"},
    [ADD_TENSOR] = {"add", "add+relu", "add+clip:0:6"},
};

int find_post_ops(const char *text, struct post_ops *out)
{
    for (int i = 0; i < 9; i++) {
        if (strcasecmp(text, post_ops_names[i / 3][i % 3]) != 0) continue;
        *out = (struct post_ops){(enum addend)(i / 3), i % 3};
        return 1;
    }
    return 0;
}

const char *post_ops_name(const struct post_ops *p)
{
    return post_ops_names[p->addend][p->activation];
}

const char *choice_name(int choice)
{
    static const char *const names[] = {[CONVOP_CHOICE_NONE] = "none",
                                        [CONVOP_CHOICE_FORCED] = "forced",
                                        [CONVOP_CHOICE_CACHED] = "cached",
                                        [CONVOP_CHOICE_ESTIMATED] = "estimated",
                                        [CONVOP_CHOICE_MEASURED] = "measured"};
    const int known = choice >= 0 && choice < (int)(sizeof names / sizeof names[0]);
    return known ? names[choice] : "unknown";
}
