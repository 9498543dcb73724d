/* One kind through convop: imported, used by a convolution as its input and as its output, exported
 * again. Everything is checked on the way; what is left is the answer. */
#ifndef TESTS_DLPACK_TRIAL_H
#define TESTS_DLPACK_TRIAL_H

#include "tests/dlpack/kinds.h"

struct trial {
    enum kind_answer input, output;
    char says[256]; /* convop's sentence on the first of the two that is not taken; "" */
};

/* Of the old struct, or of that of DLPack 1.x. Ends the test where something is wrong. */
struct trial trial_run(const struct kind *k, int versioned);

/* The same import and exports with each of their allocations failed in turn. */
void trial_without_memory(const struct kind *k, int versioned);

#endif
