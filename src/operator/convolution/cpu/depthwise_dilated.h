/* Dilated windows of the row `depthwise` in N*C: with a dilation d every d-th row and pixel make an
 * image of their own, in which the window has no gaps. A step from one pixel to the next is a
 * stride of the tensor, so that the kernels of windows without dilation compute them. */
#ifndef CVP_CONV_DEPTHWISE_DILATED_H
#define CVP_CONV_DEPTHWISE_DILATED_H

#include "src/operator/convolution/cpu/depthwise.h"

/* Images that each image of the problem falls into; 1 where it is computed as it is. */
int64_t cvp_dw_images(const convop_conv_problem *p);

/* One of them: those of all images and depths of the batch. */
struct cvp_dw_image {
    struct cvp_dw_job job;
    struct cvp_dw_axis h, w; /* the job's */
};

/* The i-th of them, of a whole job that is already cut into items. */
void cvp_dw_image_of(const struct cvp_dw_job *whole, int64_t i, struct cvp_dw_image *image);

#endif
