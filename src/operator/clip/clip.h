/* The parameters of clip, which its gradient has too. */
#ifndef CVP_CLIP_H
#define CVP_CLIP_H

#include "convop/registry.h"

struct clip_params {
    size_t struct_size;
    double a_min, a_max;
};

#endif
