/* MobileNet v1 as a symbol. Source: Howard et al., "MobileNets: Efficient Convolutional Neural
 * Networks for Mobile Vision Applications", 2017; names are those of MXNet's symbol of it. */
#ifndef MOBILENET_V1_H
#define MOBILENET_V1_H

#include "src/graph/symbol.h"

struct mobilenet {
    int num_classes;
    double multiplier; /* of the channels */
    int depthwise_conv_off;
};

/* data -> softmax, with the arguments data and softmax_label. *out is the caller's. */
convop_status mobilenet_v1(const struct mobilenet *net, struct cvp_symbol **out);

#endif
