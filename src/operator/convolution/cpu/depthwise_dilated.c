/* Dilated windows as windows of every d-th pixel; see depthwise_dilated.h. */
#include "src/operator/convolution/cpu/depthwise_dilated.h"

#include "src/common/size.h"

/* Outputs that an axis of such an image should have at least: fewer do not fill what is computed
 * together. */
#define LEAST_OUTPUTS 3

static int is_walked(int64_t s, int64_t d, int64_t outputs)
{
    return s == 1 && d <= outputs / LEAST_OUTPUTS;
}

/* Windows that kernels compute side by side, once there is no dilation; in NC* pixels have to lie
 * side by side. */
int64_t cvp_dw_images(const convop_conv_problem *p)
{
    const int backward = p->direction == CONVOP_BWD_D;
    if (!p->channels_last || p->oc != p->ic || p->kd != 1 || p->kh != p->kw ||
        (p->kh != 3 && p->kh != 5) || (p->dh == 1 && p->dw == 1))
        return 1;
    if (!is_walked(p->sh, p->dh, backward ? p->ih : p->oh) ||
        !is_walked(p->sw, p->dw, backward ? p->iw : p->ow))
        return 1;
    return p->dh * p->dw;
}

/* Outputs r, r + d, ... of an axis with dilation d; what they read are the elements *from,
 * *from + d, ... */
static struct cvp_dw_axis every(const struct cvp_dw_axis *a, int64_t r, int64_t *from)
{
    const int64_t d = a->tap, at = a->at + r;
    const int64_t first = at >= 0 ? at / d : -cvp_ceil_div(-at, d);
    struct cvp_dw_axis own = *a;
    *from = at - first * d;
    own.at = first;
    own.tap = 1;
    own.count = cvp_ceil_div(a->count - r, d);
    own.size = *from < a->size ? cvp_ceil_div(a->size - *from, d) : 0;
    return own;
}

void cvp_dw_image_of(const struct cvp_dw_job *whole, int64_t i, struct cvp_dw_image *image)
{
    const int64_t size = (int64_t)cvp_conv_element_size(whole->p);
    const int64_t dh = whole->h.at->tap, dw = whole->w.at->tap, h = i / dw, w = i % dw;
    int64_t from_h, from_w;
    struct cvp_dw_job *job = &image->job;
    *job = *whole;
    image->h = every(whole->h.at, h, &from_h);
    image->w = every(whole->w.at, w, &from_w);
    job->h.at = &image->h;
    job->w.at = &image->w;
    job->out_h = image->h.count;
    job->out_w = image->w.count;
    job->in = (const char *)whole->in +
              (from_h * whole->in_stride.h + from_w * whole->in_stride.w) * size;
    const int64_t out = (h * whole->out_stride.h + w * whole->out_stride.w) * size;
    job->out = (char *)whole->out + out;
    if (whole->residual) job->residual = (const char *)whole->residual + out;
    job->in_stride.h *= dh;
    job->in_stride.w *= dw;
    job->out_stride.h *= dh;
    job->out_stride.w *= dw;
}
