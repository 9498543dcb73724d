/* The fuse pass: a symbol for inference in which one step computes a Convolution with what follows
 * it. */
#ifndef CVP_GRAPH_FUSE_H
#define CVP_GRAPH_FUSE_H

#include "src/graph/symbol.h"

/* A new symbol with the same variables, outputs and results, in which
 *
 *     Convolution [BatchNorm by its running statistics] [elemwise_add]
 *         [Activation relu | clip from 0 to 6]
 *
 * is one node FusedConvolution or FusedConvolutionAdd, named as the last of them, and BatchNorm is
 * folded into weights and bias by a node _fold_BatchNorm. Only where nothing else uses what is
 * between them, and weights and statistics are variables that are no input. The symbol itself
 * stays. is_input: by node. @return NO_MEMORY; *out is NULL */
convop_status cvp_symbol_fuse(const struct cvp_symbol *symbol, const unsigned char *is_input,
                              struct cvp_symbol **out);

#endif
