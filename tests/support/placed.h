/* The tensors of a convolution at addresses that a test chooses: next to a forbidden page, or off
 * alignment. Contents come from the case's boxes and go back to them. */
#ifndef TEST_PLACED_H
#define TEST_PLACED_H

#include "tests/support/conv_fixed.h"

enum {
    P_SRC,
    P_WEIGHTS,
    P_BIAS,
    P_DST,
    P_DIFF_DST,
    P_DIFF_SRC,
    P_DIFF_WEIGHTS,
    P_DIFF_BIAS,
    PLACED
};

struct placed {
    struct conv_case *c;
    DLTensor at[PLACED];
};

/* The case's own. */
struct box *placed_box(struct conv_case *c, int which);

/* The first element of its memory. */
void *placed_elements(struct conv_case *c, int which);

/* Bytes from the first element of a tensor to behind its last one. */
size_t placed_bytes(struct conv_case *c, int which);

/* Puts a tensor to `memory`, which has room for placed_bytes(), with what its box holds. */
void placed_put(struct placed *p, int which, void *memory);

/* Brings outputs back to their boxes. */
void placed_take_back(struct placed *p);

/* The calls. A backward one computes the directions that the case's requests ask for. */
convop_status placed_forward(struct placed *p, const convop_exec *exec);
convop_status placed_backward(struct placed *p, const convop_exec *exec);

/* 1 if an output is asked for by the case's requests. */
int placed_is_asked(const struct conv_case *c, int output);

/* What a direction writes: an output number of conv_case_output, and a tensor of above. */
int placed_output(convop_conv_direction direction);
int placed_which(convop_conv_direction direction);

#endif
