/* The key of a problem in the tuning cache: all that can change the winner, in three texts.
 * docs/tuning.md describes them.
 *
 * Addresses are no part of it: rows are promised the alignment of an element and no more, and are
 * not told of any address when they are chosen. */
#ifndef CVP_CONV_KEY_H
#define CVP_CONV_KEY_H

#include "src/operator/convolution/plan.h"
#include "src/operator/tuning/tuning.h"

#define CONV_SOFTWARE 128 /* bytes of that text */

struct conv_key {
    char software[CONV_SOFTWARE], problem[1024];
};

/* The key of a plan's problem; its texts live as long as *texts. */
struct cvp_tune_key cvp_conv_key(const struct conv_plan *plan, struct conv_key *texts);

#endif
