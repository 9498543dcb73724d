/* First values of parameters and auxiliary states, by their names' endings, as MXNet's Xavier
 * initialiser (gaussian, fan in, magnitude 2) has them. */
#ifndef MOBILENET_INITIALIZER_H
#define MOBILENET_INITIALIZER_H

#include <stdint.h>

#include "convop/base.h"

/* _weight: normal, mean 0, variance 2 / (sizes but the first); _gamma and _moving_var: 1; the rest
 * 0. tensor: compact, float32 or float64. The values follow from seed and name alone. */
void initialize(const char *name, const DLTensor *tensor, uint64_t seed);

#endif
