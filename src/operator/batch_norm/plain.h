/* BatchNorm of one channel with any strides, in the calling thread, without scratch. */
#ifndef CVP_BN_PLAIN_H
#define CVP_BN_PLAIN_H

#include "src/operator/batch_norm/batch_norm.h"
#include "src/operator/batch_norm/kernels.h"

/* One channel of a tensor: a tensor without that axis. */
struct bn_channel {
    DLTensor tensor;
    int64_t shape[CONVOP_MAX_DIMS], strides[CONVOP_MAX_DIMS];
};

/* channel->tensor points into *channel, which must stay where it is. */
void cvp_bn_channel_init(struct bn_channel *channel, const DLTensor *t, int axis, int64_t c);

/* As the kernels of kernels.h. */
void cvp_bn_plain_moments(const DLTensor *x, double m[2]);
void cvp_bn_plain_products(const DLTensor *dy, const DLTensor *x, double mean, double s[2]);
void cvp_bn_plain_scale(const DLTensor *y, const DLTensor *x, const double *coef, int add);
void cvp_bn_plain_diff(const DLTensor *dx, const DLTensor *dy, const DLTensor *x,
                       const double *coef, int add);

#endif
