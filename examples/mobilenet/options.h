/* The command line of train_mobilenet: MXNet's flags of train_imagenet.py, and a few more. */
#ifndef MOBILENET_OPTIONS_H
#define MOBILENET_OPTIONS_H

#include <stdint.h>

#define MAX_LR_STEPS 16

struct options {
    int num_classes, batch_size, num_epochs, disp_batches, top_k, data_nthreads, benchmark;
    int load_epoch; /* -1: start anew */
    int skip_bad_images, depthwise_conv_off, random_mirror, random_crop;
    int64_t num_examples;
    uint64_t seed;
    int channels, height, width;
    double lr, lr_factor, mom, wd, multiplier;
    double lr_step_epochs[MAX_LR_STEPS];
    int num_lr_steps;
    double rgb_mean[3], rgb_std[3];
    const char *data_train, *data_train_idx, *data_val, *data_val_idx, *model_prefix, *curves;
    int is_float64;
};

/* Fills options from the command line. On a wrong flag or value it prints one sentence and ends the
 * program with status 2; for something that is not there yet, with 1. */
void options_parse(struct options *options, int argc, char **argv);

#endif
