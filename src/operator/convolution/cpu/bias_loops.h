/* Prepares a block of dst for a product that adds to it: the bias, for one type T. No guard. */

/* A group's channels of `pixels` pixels; with p->add the bias comes on top of what is there. */
static void NAME(add_bias)(const convop_conv_problem *p, const void *bias_, int64_t pixels,
                           void *dst_)
{
    const T *bias = bias_;
    T *dst = dst_;
    int64_t ocg = p->oc / p->g;
    int64_t c_step = p->channels_last ? 1 : cvp_conv_dst_pixels(p),
            y_step = p->channels_last ? p->oc : 1;
    int64_t inner = p->channels_last ? ocg : pixels, outer = p->channels_last ? pixels : ocg;
    for (int64_t i = 0; i < outer; i++) {
        T *row = dst + i * (p->channels_last ? y_step : c_step);
        for (int64_t j = 0; j < inner; j++) {
            T b = bias[(p->channels_last ? j : i) * p->bias_stride];
            row[j] = p->add ? row[j] + b : b;
        }
    }
}
