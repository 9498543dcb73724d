/* The loops of the row `reference` for one type T, read by LOAD and
 * rounded by STORE. Included once for each; no guard. */

static void NAME(fwd)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->p;
    const T *src = job->t->src, *weights = job->t->weights, *bias = job->t->bias;
    T *dst = job->t->out;
    const T *residual = p->residual ? job->t->residual : NULL;
    const double high = cvp_conv_high(p);
    const convop_conv_strides ss = p->src, ws = p->weights, ds = p->dst, rs = p->residual_strides;
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g;

    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, ow = rest % p->ow;
        int64_t oh = (rest /= p->ow) % p->oh;
        int64_t od = (rest /= p->oh) % p->od;
        int64_t oc = (rest /= p->od) % p->oc;
        int64_t n = rest / p->oc, g = oc / ocg;
        int64_t d0 = od * p->sd - p->pd, h0 = oh * p->sh - p->ph, w0 = ow * p->sw - p->pw;
        int64_t kd0, kd1, kh0, kh1, kw0, kw1;
        window_inside(d0, p->dd, p->id, p->kd, &kd0, &kd1);
        window_inside(h0, p->dh, p->ih, p->kh, &kh0, &kh1);
        window_inside(w0, p->dw, p->iw, p->kw, &kw0, &kw1);

        double sum = bias ? LOAD(bias[oc * p->bias_stride]) : 0;
        for (int64_t c = 0; c < icg; c++)
            for (int64_t kd = kd0; kd < kd1; kd++)
                for (int64_t kh = kh0; kh < kh1; kh++)
                    for (int64_t kw = kw0; kw < kw1; kw++)
                        sum +=
                            LOAD(src[n * ss.n + (g * icg + c) * ss.c + (d0 + kd * p->dd) * ss.d +
                                     (h0 + kh * p->dh) * ss.h + (w0 + kw * p->dw) * ss.w]) *
                            LOAD(weights[oc * ws.n + c * ws.c + kd * ws.d + kh * ws.h + kw * ws.w]);
        T *to = dst + n * ds.n + oc * ds.c + od * ds.d + oh * ds.h + ow * ds.w;
        if (p->add) sum += LOAD(*to);
        if (residual) {
            /* Rounded as by an operator of its own; 16-bit types once, at the end. */
            if (sizeof(T) > 2) sum = LOAD(STORE(sum));
            sum += LOAD(residual[n * rs.n + oc * rs.c + od * rs.d + oh * rs.h + ow * rs.w]);
        }
        *to = STORE(p->activation ? CVP_CLAMP(sum, high) : sum);
    }
}

/* diff_src[x] gathers from every y and k with y * stride + k * dilate - pad == x. */
static void NAME(bwd_d)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->p;
    const T *diff_dst = job->t->dst, *weights = job->t->weights;
    T *diff_src = job->t->out;
    const convop_conv_strides ss = p->src, ws = p->weights, ds = p->dst;
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g;

    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, iw = rest % p->iw;
        int64_t ih = (rest /= p->iw) % p->ih;
        int64_t id = (rest /= p->ih) % p->id;
        int64_t ic = (rest /= p->id) % p->ic;
        int64_t n = rest / p->ic, g = ic / icg, c = ic % icg;

        double sum = 0;
        for (int64_t kd = 0; kd < p->kd; kd++) {
            int64_t d = id + p->pd - kd * p->dd;
            if (d < 0) break;
            if (d % p->sd != 0 || d / p->sd >= p->od) continue;
            for (int64_t kh = 0; kh < p->kh; kh++) {
                int64_t h = ih + p->ph - kh * p->dh;
                if (h < 0) break;
                if (h % p->sh != 0 || h / p->sh >= p->oh) continue;
                for (int64_t kw = 0; kw < p->kw; kw++) {
                    int64_t w = iw + p->pw - kw * p->dw;
                    if (w < 0) break;
                    if (w % p->sw != 0 || w / p->sw >= p->ow) continue;
                    const T *from = diff_dst + n * ds.n + d / p->sd * ds.d + h / p->sh * ds.h +
                                    w / p->sw * ds.w;
                    const T *by = weights + c * ws.c + kd * ws.d + kh * ws.h + kw * ws.w;
                    for (int64_t oc = g * ocg; oc < (g + 1) * ocg; oc++)
                        sum += LOAD(from[oc * ds.c]) * LOAD(by[oc * ws.n]);
                }
            }
        }
        T *to = diff_src + n * ss.n + ic * ss.c + id * ss.d + ih * ss.h + iw * ss.w;
        *to = STORE(p->add ? LOAD(*to) + sum : sum);
    }
}

static void NAME(bwd_w)(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct job *job = arg;
    const convop_conv_problem *p = job->p;
    const T *diff_dst = job->t->dst, *src = job->t->src;
    T *diff_weights = job->t->out;
    const convop_conv_strides ss = p->src, ws = p->weights, ds = p->dst;
    int64_t icg = p->ic / p->g, ocg = p->oc / p->g;

    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i, kw = rest % p->kw;
        int64_t kh = (rest /= p->kw) % p->kh;
        int64_t kd = (rest /= p->kh) % p->kd;
        int64_t c = (rest /= p->kd) % icg;
        int64_t oc = rest / icg, ic = oc / ocg * icg + c;
        int64_t td = kd * p->dd - p->pd, th = kh * p->dh - p->ph, tw = kw * p->dw - p->pw;
        int64_t od0, od1, oh0, oh1, ow0, ow1;
        window_inside(td, p->sd, p->id, p->od, &od0, &od1);
        window_inside(th, p->sh, p->ih, p->oh, &oh0, &oh1);
        window_inside(tw, p->sw, p->iw, p->ow, &ow0, &ow1);

        double sum = 0;
        for (int64_t n = 0; n < p->mb; n++)
            for (int64_t od = od0; od < od1; od++)
                for (int64_t oh = oh0; oh < oh1; oh++)
                    for (int64_t ow = ow0; ow < ow1; ow++)
                        sum += LOAD(diff_dst[n * ds.n + oc * ds.c + od * ds.d + oh * ds.h +
                                             ow * ds.w]) *
                               LOAD(src[n * ss.n + ic * ss.c + (od * p->sd + td) * ss.d +
                                        (oh * p->sh + th) * ss.h + (ow * p->sw + tw) * ss.w]);
        T *to = diff_weights + oc * ws.n + c * ws.c + kd * ws.d + kh * ws.h + kw * ws.w;
        *to = STORE(p->add ? LOAD(*to) + sum : sum);
    }
}
