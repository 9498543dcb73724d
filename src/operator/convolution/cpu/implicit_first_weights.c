/* Packing the weights of the row `implicit` for NC*. */
#include "src/common/size.h"
#include "src/common/stage.h"
#include "src/engine/parallel.h"
#include "src/operator/convolution/cpu/implicit.h"
#include "src/operator/convolution/cpu/implicit_first.h"

struct packing {
    const struct implicit_first *f;
    const char *weights;
    char *panels;
};

/* A panel of output channels side by side, of the taps of one phase after the other; in each, as in
 * the table, an input channel's taps follow each other. */
static void pack_panels(void *arg, int lane, int64_t begin, int64_t end)
{
    (void)lane;
    const struct packing *k = arg;
    const struct implicit_first *f = k->f;
    const convop_conv_problem *p = f->p;
    const int64_t taps = cvp_conv_taps(p), icg = p->ic / p->g, ocg = p->oc / p->g;
    const int64_t stored = f->stored->size;
    cvp_gemm_pack *pack = cvp_stored_pack_a(cvp_conv_stored_type(p), (enum cvp_isa)p->isa);
    for (int64_t i = begin; i < end; i++) {
        const int64_t g = i / f->tiles, c = i % f->tiles * f->height;
        const int height = (int)f->height, valid = (int)cvp_min_i64(height, f->ends.out.c - c);
        const char *from = k->weights + g * ocg * icg * taps * stored;
        char *to = k->panels + (size_t)i * f->weight_panel_bytes;
        if (p->direction == CONVOP_FWD) {
            pack(to, height, valid, icg * taps, from + c * icg * taps * stored, icg * taps, 1);
            continue;
        }
        for (int64_t phase = 0; phase < f->phases; phase++) {
            const struct stencil s = cvp_conv_stencil(p, phase, 0);
            const int all = s.d.taps * s.h.taps * s.w.taps == taps;
            for (int64_t o = 0; o < ocg; o++) {
                const char *filters = from + (o * icg + c) * taps * stored;
                if (all) {
                    pack(to, height, valid, taps, filters, taps, 1);
                    to += taps * height * f->size;
                    continue;
                }
                for (int64_t jd = 0; jd < s.d.taps; jd++)
                    for (int64_t jh = 0; jh < s.h.taps; jh++) {
                        const int64_t tap = ((s.d.k_first + jd * s.d.k_step) * p->kh + s.h.k_first +
                                             jh * s.h.k_step) *
                                                p->kw +
                                            s.w.k_first;
                        if (s.w.taps == 0) continue;
                        pack(to, height, valid, s.w.taps, filters + tap * stored, taps, s.w.k_step);
                        to += s.w.taps * height * f->size;
                    }
            }
        }
    }
}

void cvp_conv_implicit_first_pack_weights(const struct implicit_first *f, const void *weights,
                                          void *panels, const convop_context *context)
{
    struct packing k = {f, weights, panels};
    int outer = cvp_stage_enter(CONVOP_STAGE_PACKING);
    cvp_parallel(context, f->p->g * f->tiles, pack_panels, &k);
    cvp_stage_leave(outer);
}
