/* The command line, by argp. Values are checked here, so that nothing later meets a bad one. */
#include "examples/mobilenet/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convop/version.h"

enum key {
    KEY_NETWORK = 256,
    KEY_NUM_CLASSES,
    KEY_NUM_EXAMPLES,
    KEY_IMAGE_SHAPE,
    KEY_BATCH_SIZE,
    KEY_NUM_EPOCHS,
    KEY_LR,
    KEY_LR_FACTOR,
    KEY_LR_STEP_EPOCHS,
    KEY_MOM,
    KEY_WD,
    KEY_DATA_TRAIN,
    KEY_DATA_TRAIN_IDX,
    KEY_DATA_VAL,
    KEY_DATA_VAL_IDX,
    KEY_DATA_NTHREADS,
    KEY_BENCHMARK,
    KEY_DISP_BATCHES,
    KEY_LOAD_EPOCH,
    KEY_MODEL_PREFIX,
    KEY_TOP_K,
    KEY_GPUS,
    KEY_KV_STORE,
    KEY_DTYPE,
    KEY_SEED,
    KEY_MULTIPLIER,
    KEY_SKIP_BAD_IMAGES,
    KEY_DEPTHWISE_CONV_OFF,
    KEY_RGB_MEAN,
    KEY_RGB_STD,
    KEY_RANDOM_MIRROR,
    KEY_RANDOM_CROP,
    KEY_CURVES,
};

static const struct argp_option rows[] = {
    {0, 0, 0, 0, "The network", 1},
    {"network", KEY_NETWORK, "NAME", 0, "mobilenet, the only one", 1},
    {"num-classes", KEY_NUM_CLASSES, "N", 0, "classes (1000)", 1},
    {"image-shape", KEY_IMAGE_SHAPE, "C,H,W", 0, "an image: 1 or 3 channels (3,224,224)", 1},
    {"multiplier", KEY_MULTIPLIER, "X", 0, "width of the network (1.0)", 1},
    {"dtype", KEY_DTYPE, "TYPE", 0, "float32 or float64 (float32)", 1},
    {"depthwise-conv-off", KEY_DEPTHWISE_CONV_OFF, 0, 0, "do not use the depthwise implementations",
     1},
    {0, 0, 0, 0, "Data", 2},
    {"data-train", KEY_DATA_TRAIN, "FILE", 0, "training images, a .rec file", 2},
    {"data-train-idx", KEY_DATA_TRAIN_IDX, "FILE", 0, "its index (the .idx beside it)", 2},
    {"data-val", KEY_DATA_VAL, "FILE", 0, "images for validation, a .rec file", 2},
    {"data-val-idx", KEY_DATA_VAL_IDX, "FILE", 0, "its index", 2},
    {"data-nthreads", KEY_DATA_NTHREADS, "N", 0, "decoding threads (4)", 2},
    {"num-examples", KEY_NUM_EXAMPLES, "N", 0, "images in an epoch at most (1281167)", 2},
    {"rgb-mean", KEY_RGB_MEAN, "R,G,B", 0, "subtracted (123.68,116.779,103.939)", 2},
    {"rgb-std", KEY_RGB_STD, "R,G,B", 0, "divided by (1,1,1)", 2},
    {"random-mirror", KEY_RANDOM_MIRROR, "0|1", 0, "mirror half of the training images (0)", 2},
    {"random-crop", KEY_RANDOM_CROP, "0|1", 0, "crop training images at random places (0)", 2},
    {"skip-bad-images", KEY_SKIP_BAD_IMAGES, 0, 0,
     "leave out images that do not decode, and count them", 2},
    {"benchmark", KEY_BENCHMARK, "0|1", 0, "1: synthetic data of the same shape (0)", 2},
    {0, 0, 0, 0, "Training", 3},
    {"batch-size", KEY_BATCH_SIZE, "N", 0, "images in a batch (128)", 3},
    {"num-epochs", KEY_NUM_EPOCHS, "N", 0, "epochs, counted from the first (80)", 3},
    {"lr", KEY_LR, "X", 0, "learning rate (0.1)", 3},
    {"lr-factor", KEY_LR_FACTOR, "X", 0, "what it is multiplied by at each step (0.1)", 3},
    {"lr-step-epochs", KEY_LR_STEP_EPOCHS, "A,B,...", 0, "epochs of these steps (30,60)", 3},
    {"mom", KEY_MOM, "X", 0, "momentum (0.9)", 3},
    {"wd", KEY_WD, "X", 0, "weight decay (0.0001)", 3},
    {"seed", KEY_SEED, "N", 0, "of everything random (0)", 3},
    {"gpus", KEY_GPUS, "LIST", 0, "not there yet", 3},
    {"kv-store", KEY_KV_STORE, "KIND", 0, "local or device (device)", 3},
    {0, 0, 0, 0, "What is written", 4},
    {"disp-batches", KEY_DISP_BATCHES, "N", 0, "batches between two lines (20)", 4},
    {"top-k", KEY_TOP_K, "N", 0, "also report the accuracy of the N best (0)", 4},
    {"model-prefix", KEY_MODEL_PREFIX, "PREFIX", 0,
     "save PREFIX-0001.params and so on after each epoch", 4},
    {"load-epoch", KEY_LOAD_EPOCH, "N", 0, "go on from PREFIX-N.params", 4},
    {"curves", KEY_CURVES, "FILE", 0, "write loss and accuracy of each epoch as JSON lines", 4},
    {0},
};

/* ---- values -------------------------------------------------------------------------------- */

static int64_t integer(struct argp_state *state, const char *flag, const char *text, int64_t low,
                       int64_t high)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < low || v > high)
        argp_error(state, "--%s is %s, allowed is a whole number from %lld to %lld", flag, text,
                   (long long)low, (long long)high);
    return v;
}

static double real(struct argp_state *state, const char *flag, const char *text, double low,
                   double high)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= low && v <= high))
        argp_error(state, "--%s is %s, allowed is a number from %g to %g", flag, text, low, high);
    return v;
}

/* A comma list of at most `max` numbers; returns how many. */
static int list(struct argp_state *state, const char *flag, const char *text, double low,
                double high, double *at, int max)
{
    char copy[256];
    if (strlen(text) >= sizeof copy) argp_error(state, "--%s is too long", flag);
    strcpy(copy, text);
    int n = 0;
    char *rest = copy;
    for (char *item; (item = strsep(&rest, ","));) {
        if (n == max) argp_error(state, "--%s is %s, allowed are %d numbers", flag, text, max);
        at[n++] = real(state, flag, item, low, high);
    }
    return n;
}

static void not_there(const char *what)
{
    fprintf(stderr, "train_mobilenet: %s\n", what);
    exit(1);
}

static void image_shape(struct argp_state *state, const char *text, struct options *o)
{
    double at[3];
    if (list(state, "image-shape", text, 1, 65536, at, 3) != 3 || (at[0] != 1 && at[0] != 3) ||
        at[1] != floor(at[1]) || at[2] != floor(at[2]))
        argp_error(state, "--image-shape is %s, allowed is channels (1 or 3), height, width", text);
    o->channels = (int)at[0];
    o->height = (int)at[1];
    o->width = (int)at[2];
}

static void three(struct argp_state *state, const char *flag, const char *text, double low,
                  double *at)
{
    if (list(state, flag, text, low, 1e6, at, 3) != 3)
        argp_error(state, "--%s is %s, allowed are three numbers", flag, text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case KEY_NETWORK:
        if (strcmp(arg, "mobilenet") != 0)
            argp_error(state, "--network is %s, the only one there is is mobilenet", arg);
        break;
    case KEY_NUM_CLASSES:
        o->num_classes = (int)integer(state, "num-classes", arg, 2, 1 << 24);
        break;
    case KEY_NUM_EXAMPLES:
        o->num_examples = integer(state, "num-examples", arg, 1, INT64_MAX);
        break;
    case KEY_IMAGE_SHAPE: image_shape(state, arg, o); break;
    case KEY_BATCH_SIZE: o->batch_size = (int)integer(state, "batch-size", arg, 1, 1 << 20); break;
    case KEY_NUM_EPOCHS: o->num_epochs = (int)integer(state, "num-epochs", arg, 1, 1 << 20); break;
    case KEY_LR: o->lr = real(state, "lr", arg, 0, 1e6); break;
    case KEY_LR_FACTOR: o->lr_factor = real(state, "lr-factor", arg, 0, 1e6); break;
    case KEY_LR_STEP_EPOCHS:
        o->num_lr_steps =
            list(state, "lr-step-epochs", arg, 0, 1e9, o->lr_step_epochs, MAX_LR_STEPS);
        break;
    case KEY_MOM: o->mom = real(state, "mom", arg, 0, 1); break;
    case KEY_WD: o->wd = real(state, "wd", arg, 0, 1e6); break;
    case KEY_DATA_TRAIN: o->data_train = arg; break;
    case KEY_DATA_TRAIN_IDX: o->data_train_idx = arg; break;
    case KEY_DATA_VAL: o->data_val = arg; break;
    case KEY_DATA_VAL_IDX: o->data_val_idx = arg; break;
    case KEY_DATA_NTHREADS:
        o->data_nthreads = (int)integer(state, "data-nthreads", arg, 1, 256);
        break;
    case KEY_BENCHMARK: o->benchmark = (int)integer(state, "benchmark", arg, 0, 1); break;
    case KEY_DISP_BATCHES:
        o->disp_batches = (int)integer(state, "disp-batches", arg, 1, 1 << 30);
        break;
    case KEY_LOAD_EPOCH: o->load_epoch = (int)integer(state, "load-epoch", arg, 0, 1 << 20); break;
    case KEY_MODEL_PREFIX: o->model_prefix = arg; break;
    case KEY_TOP_K: o->top_k = (int)integer(state, "top-k", arg, 0, 1 << 24); break;
    case KEY_GPUS:
        if (arg[0]) not_there("--gpus is not there yet: training runs on the CPU");
        break;
    case KEY_KV_STORE:
        if (strncmp(arg, "dist", 4) == 0)
            not_there("a distributed --kv-store is not there yet: local and device are");
        if (strcmp(arg, "local") != 0 && strcmp(arg, "device") != 0)
            argp_error(state, "--kv-store is %s, allowed is local or device", arg);
        break;
    case KEY_DTYPE:
        if (strcmp(arg, "float16") == 0 || strcmp(arg, "bfloat16") == 0)
            not_there("training in 16-bit types is not there yet: float32 and float64 are");
        if (strcmp(arg, "float32") != 0 && strcmp(arg, "float64") != 0)
            argp_error(state, "--dtype is %s, allowed is float32 or float64", arg);
        o->is_float64 = strcmp(arg, "float64") == 0;
        break;
    case KEY_SEED: o->seed = (uint64_t)integer(state, "seed", arg, 0, INT64_MAX); break;
    case KEY_MULTIPLIER: o->multiplier = real(state, "multiplier", arg, 0.03125, 16); break;
    case KEY_SKIP_BAD_IMAGES: o->skip_bad_images = 1; break;
    case KEY_DEPTHWISE_CONV_OFF: o->depthwise_conv_off = 1; break;
    case KEY_RGB_MEAN: three(state, "rgb-mean", arg, -1e6, o->rgb_mean); break;
    case KEY_RGB_STD: three(state, "rgb-std", arg, 1e-6, o->rgb_std); break;
    case KEY_RANDOM_MIRROR:
        o->random_mirror = (int)integer(state, "random-mirror", arg, 0, 1);
        break;
    case KEY_RANDOM_CROP: o->random_crop = (int)integer(state, "random-crop", arg, 0, 1); break;
    case KEY_CURVES: o->curves = arg; break;
    case ARGP_KEY_ARG: argp_error(state, "%s: there are no arguments but options", arg); break;
    case ARGP_KEY_END:
        if (!o->benchmark && !o->data_train)
            argp_error(state, "one of --data-train FILE and --benchmark 1 is needed");
        if (o->load_epoch >= 0 && !o->model_prefix)
            argp_error(state, "--load-epoch needs --model-prefix");
        if (o->top_k > o->num_classes)
            argp_error(state, "--top-k is %d, more than the %d classes", o->top_k, o->num_classes);
        if (o->height < 8 || o->width < 8)
            argp_error(state,
                       "--image-shape is %d,%d,%d: mobilenet, which halves an image five "
                       "times, needs 8 x 8 or more",
                       o->channels, o->height, o->width);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void options_parse(struct options *options, int argc, char **argv)
{
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .doc = "Trains MobileNet v1 on images from a RecordIO file.\v"
               "Flags and log lines are those of MXNet's train_imagenet.py.",
    };
    *options = (struct options){
        .num_classes = 1000,
        .batch_size = 128,
        .num_epochs = 80,
        .disp_batches = 20,
        .data_nthreads = 4,
        .load_epoch = -1,
        .num_examples = 1281167,
        .channels = 3,
        .height = 224,
        .width = 224,
        .lr = 0.1,
        .lr_factor = 0.1,
        .mom = 0.9,
        .wd = 0.0001,
        .multiplier = 1,
        .lr_step_epochs = {30, 60},
        .num_lr_steps = 2,
        .rgb_mean = {123.68, 116.779, 103.939},
        .rgb_std = {1, 1, 1},
    };
    argp_err_exit_status = 2;
    argp_program_version = convop_version_string();
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
