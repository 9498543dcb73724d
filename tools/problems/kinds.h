/* What a problem is computed in: directions, element types, layouts, as benchdnn spells them. */
#ifndef PROBLEMS_KINDS_H
#define PROBLEMS_KINDS_H

#include "convop/convolution.h"

enum direction { FWD_B, FWD_D, FWD_I, BWD_D, BWD_W, BWD_WB, NUM_DIRECTIONS };
enum type { F32, F64, F16, BF16, NUM_TYPES };
enum tag { NCHW, NHWC, NUM_TAGS };

const char *direction_name(enum direction direction);
const char *type_name(enum type type);
const char *tag_name(enum tag tag);

/* By name, in any case of letters; -1: there is none. A type may be written for each of src,
 * weights and dst (f32:f32:f32) or as benchdnn's old --cfg does (bf16bf16bf16); a tag for any
 * number of axes (abx, ncw, acdb). */
int find_direction(const char *name);
int find_type(const char *name);
int find_tag(const char *name);

/* cpu, cuda or cuda:NUMBER. 1, or 0: neither. */
int find_device(const char *name, DLDevice *device);

/* Of FWD_B and the like, which the library does not tell apart but for the bias. */
convop_conv_direction library_direction(enum direction direction);
int direction_has_bias(enum direction direction);

DLDataType type_dtype(enum type type);
size_t type_bytes(enum type type);

/* What follows a forward convolution, as benchdnn's --attr-post-ops names it: something is added,
 * dst itself (sum) or another tensor (add), then an activation (relu, clip:0:6). */
enum addend { ADD_NOTHING, ADD_DST, ADD_TENSOR };
struct post_ops {
    enum addend addend;
    int activation; /* convop_conv_activation */
};

/* "sum+relu" and the like; 0: convop has no such thing. "" is none. */
int find_post_ops(const char *text, struct post_ops *out);
const char *post_ops_name(const struct post_ops *post_ops);

/* "cached" and the like, of a convop_conv_choice. */
const char *choice_name(int choice);

#endif
