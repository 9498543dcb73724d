/* train_mobilenet: MobileNet v1 from a RecordIO file, with MXNet's flags and log lines. */
#include <stdio.h>

#include "convop/base.h"
#include "examples/mobilenet/options.h"
#include "examples/mobilenet/train.h"

int main(int argc, char **argv)
{
    struct options options;
    options_parse(&options, argc, argv);
    int interrupted = 0;
    if (train(&options, &interrupted) != CONVOP_OK) {
        fprintf(stderr, "train_mobilenet: %s\n", convop_last_error());
        return 1;
    }
    return interrupted ? 130 : 0;
}
