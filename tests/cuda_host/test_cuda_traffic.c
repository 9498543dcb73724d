/* Bytes that the depthwise CUDA kernels move: the model of depthwise_cost.h against what kernels
 * load on the host, and the layers of MobileNet v1 and v2 at batch 128 within 1.15 of the least
 * there is.
 *
 *     test_cuda_traffic --table     the layers, as a table in Markdown (scripts/cuda_tables.py) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "src/operator/convolution/cuda/depthwise_cost.h"
#include "tests/cuda_host/cuda_case.h"
#include "tests/support/conv_fixed.h"

#define MOST_RATIO 1.15

static const char *const directions[] = {"forward", "backward, data", "backward, filter"};

/* Bytes loaded of the image are those of the model. N*C: sectors of each block, which channels
 * fill. */
static int counts_agree(const struct conv_size *size, convop_conv_direction d)
{
    struct conv_case c;
    struct rng r = {1};
    conv_case_fixed(&c, size, 1, 1);
    conv_case_destroy(&c);
    c.aligned = 1;
    conv_case_create_tensors(&c, &r, 0);
    const convop_conv_problem p = cuda_case_problem(&c, d);
    int tiles[CVP_CUDA_MOST_TILES];
    const int n = cvp_dw_tiles(&p, tiles);
    const struct cvp_dw_traffic t = cvp_dw_traffic(&p, tiles[cuda_case_tile % n]);
    cuda_host_options.count_sectors = size->channels_last;
    int good = cuda_case_run(&c, &cvp_cuda_depthwise, d, CONVOP_ACTIVATION_NONE, NULL) == 0;
    const struct box *image = d == CONVOP_BWD_D ? &c.diff_dst : &c.src;
    const struct cuda_host_seen seen = cuda_host_watched(image->memory);
    const double counted = size->channels_last ? 32.0 * (double)seen.sectors : (double)seen.loaded;
    /* What two tiles of one block read is counted once. */
    const struct cvp_dw_cut cut = cvp_dw_cut_of(&p, tiles[cuda_case_tile % n]);
    const int shares = size->channels_last && cut.part_tiles > 1;
    if (shares ? counted > t.image || counted < 0.8 * t.image : counted != t.image) {
        printf("%s: %.0f bytes were loaded, the model says %.0f: ", directions[d], counted,
               t.image);
        conv_case_print(&c);
        good = 0;
    }
    cuda_host_options.count_sectors = 0;
    conv_case_destroy(&c);
    return good;
}

static void model_is_what_kernels_load(void **state)
{
    (void)state;
    static const struct {
        int64_t k, s, i, channels;
    } all[] = {{3, 1, 112, 8}, {3, 2, 112, 8}, {3, 1, 28, 8}, {3, 2, 14, 16},
               {5, 1, 28, 8},  {5, 2, 56, 8},  {3, 1, 7, 32}};
    int bad = 0;
    cuda_host_options.order = CUDA_HOST_FORWARD;
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++)
        for (int last = 0; last < 2; last++)
            for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
                struct conv_size s = {.axes = 2,
                                      .channels_last = last,
                                      .type = BOX_F32,
                                      .mb = 1,
                                      .ic = all[n].channels,
                                      .oc = all[n].channels,
                                      .g = all[n].channels,
                                      .k = all[n].k,
                                      .s = all[n].s,
                                      .p = all[n].k / 2,
                                      .i = all[n].i};
                /* The first cut of all, then each in turn. */
                for (int tile = 0; tile < (n == 0 ? CVP_CUDA_MOST_TILES : 1); tile++) {
                    cuda_case_tile = (int)n + last + (int)d + tile;
                    bad += !counts_agree(&s, d);
                }
            }
    assert_int_equal(bad, 0);
}

/* Depthwise layers that differ: channels, image, stride (bench/problems/mobilenet_v1.txt, _v2.txt).
 */
static const struct layer {
    const char *net;
    int64_t channels, i, s;
} layers[] = {
    {"v1, v2", 32, 112, 1}, {"v1", 64, 112, 2}, {"v1", 128, 56, 1}, {"v1", 128, 56, 2},
    {"v1", 256, 28, 1},     {"v1", 256, 28, 2}, {"v1", 512, 14, 1}, {"v1", 512, 14, 2},
    {"v1", 1024, 7, 1},     {"v2", 96, 112, 2}, {"v2", 144, 56, 1}, {"v2", 144, 56, 2},
    {"v2", 192, 28, 1},     {"v2", 192, 28, 2}, {"v2", 384, 14, 1}, {"v2", 576, 14, 1},
    {"v2", 576, 14, 2},     {"v2", 960, 7, 1},
};

static convop_conv_problem layer_problem(const struct layer *l, int last, int half,
                                         convop_conv_direction d)
{
    const DLDataType type = {kDLFloat, half ? 16 : 32, 1};
    const int64_t o = (l->i - 1) / l->s + 1;
    convop_conv_problem p = {.struct_size = sizeof p,
                             .direction = d,
                             .dtype = type,
                             .axes = 2,
                             .channels_last = last,
                             .mb = 128,
                             .g = l->channels,
                             .ic = l->channels,
                             .oc = l->channels,
                             .id = 1,
                             .ih = l->i,
                             .iw = l->i,
                             .od = 1,
                             .oh = o,
                             .ow = o,
                             .kd = 1,
                             .kh = 3,
                             .kw = 3,
                             .sd = 1,
                             .sh = l->s,
                             .sw = l->s,
                             .dd = 1,
                             .dh = 1,
                             .dw = 1,
                             .ph = 1,
                             .pw = 1,
                             .workspace_limit = (size_t)1 << 30,
                             .deterministic = 1};
    cvp_conv_problem_make_dense(&p);
    return p;
}

static void layers_move_little(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t n = 0; n < sizeof layers / sizeof layers[0]; n++)
        for (int k = 0; k < 4; k++)
            for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
                const convop_conv_problem p = layer_problem(&layers[n], k & 1, k >> 1, d);
                const struct cvp_dw_traffic t = cvp_dw_traffic(&p, 0);
                if (t.moved <= MOST_RATIO * t.minimum) continue;
                printf("%s, %lld channels of %lld, stride %lld, %s, %s: %.3f of the least\n",
                       directions[d], (long long)layers[n].channels, (long long)layers[n].i,
                       (long long)layers[n].s, k & 1 ? "NHWC" : "NCHW", k >> 1 ? "f16" : "f32",
                       t.moved / t.minimum);
                bad++;
            }
    assert_int_equal(bad, 0);
}

/* What each cut of a layer costs: of its cuts no two are the same, none moves half as much again as
 * the least there is, and the most promising one is the first. */
static void tiles_differ(void **state)
{
    (void)state;
    int most = 0;
    for (size_t n = 0; n < sizeof layers / sizeof layers[0]; n++)
        for (int k = 0; k < 4; k++)
            for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
                const convop_conv_problem p = layer_problem(&layers[n], k & 1, k >> 1, d);
                int tiles[CVP_CUDA_MOST_TILES];
                const int count = cvp_dw_tiles(&p, tiles);
                assert_true(count >= 1 && count <= CVP_CUDA_MOST_TILES);
                if (count > most) most = count;
                for (int i = 0; i < count; i++) {
                    const struct cvp_dw_traffic t = cvp_dw_traffic(&p, tiles[i]);
                    const struct cvp_dw_cut cut = cvp_dw_cut_of(&p, tiles[i]);
                    assert_true(t.moved < 1.5 * t.minimum);
                    assert_true(cut.shared <= CVP_CUDA_MAX_SHARED && cut.threads <= 256);
                    for (int j = 0; j < i; j++) {
                        const struct cvp_dw_cut other = cvp_dw_cut_of(&p, tiles[j]);
                        assert_memory_not_equal(&cut, &other, sizeof cut);
                    }
                }
            }
    assert_int_equal(most, CVP_CUDA_MOST_TILES);
}

/* GPUs and the bandwidth of their memory in 10^12 bytes a second, as their vendor publishes it. */
static const struct {
    const char *name;
    double bandwidth;
} gpus[] = {{"A100 80 GB SXM", 2.039}, {"RTX 4090", 1.008}, {"H200 SXM", 4.8}, {"B200", 8.0}};
#define GPUS (sizeof gpus / sizeof gpus[0])

static void print_table(void)
{
    printf("| network | channels | image | stride | direction | MB | NCHW | NHWC |");
    for (size_t g = 0; g < GPUS; g++) printf(" %s |", gpus[g].name);
    printf("\n|---|--:|--:|--:|---|--:|--:|--:|");
    for (size_t g = 0; g < GPUS; g++) printf("--:|");
    printf("\n");
    for (size_t n = 0; n < sizeof layers / sizeof layers[0]; n++)
        for (convop_conv_direction d = CONVOP_FWD; d <= CONVOP_BWD_W; d++) {
            const convop_conv_problem p = layer_problem(&layers[n], 0, 0, d);
            const convop_conv_problem q = layer_problem(&layers[n], 1, 0, d);
            const struct cvp_dw_traffic t = cvp_dw_traffic(&p, 0), u = cvp_dw_traffic(&q, 0);
            printf("| %s | %lld | %lld | %lld | %s | %.1f | %.3f | %.3f |", layers[n].net,
                   (long long)layers[n].channels, (long long)layers[n].i, (long long)layers[n].s,
                   directions[d], t.minimum / 1e6, t.moved / t.minimum, u.moved / u.minimum);
            for (size_t g = 0; g < GPUS; g++) printf(" %.1f |", t.moved / gpus[g].bandwidth / 1e6);
            printf("\n");
        }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        print_table();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(model_is_what_kernels_load),
                                       cmocka_unit_test(layers_move_little),
                                       cmocka_unit_test(tiles_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
