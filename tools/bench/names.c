/* Names of directions, types and layouts, as benchdnn spells them. */
#include "tools/bench/bench.h"

const char *direction_name(enum direction direction)
{
    static const char *const names[NUM_DIRECTIONS] = {
        [FWD_B] = "FWD_B", [FWD_D] = "FWD_D", [FWD_I] = "FWD_I",
        [BWD_D] = "BWD_D", [BWD_W] = "BWD_W", [BWD_WB] = "BWD_WB",
    };
    return names[direction];
}

const char *type_name(enum type type)
{
    return type == F32 ? "f32" : "f64";
}

const char *tag_name(enum tag tag)
{
    return tag == NCHW ? "nchw" : "nhwc";
}
