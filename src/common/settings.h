/* The settings' values, as the library reads them. Table and rules: convop/settings.h. */
#ifndef CVP_COMMON_SETTINGS_H
#define CVP_COMMON_SETTINGS_H

#include "convop/settings.h"

/* Alphabetical, as convop_setting_at counts. */
enum cvp_setting {
    CVP_SETTING_AUTOTUNE,
    CVP_SETTING_CACHE_DIR,
    CVP_SETTING_CUDA_LIBRARY,
    CVP_SETTING_CUDNN_LIBRARY,
    CVP_SETTING_DETERMINISTIC,
    CVP_SETTING_ENGINE,
    CVP_SETTING_IMPL,
    CVP_SETTING_ISA,
    CVP_SETTING_LIGHT_WORK,
    CVP_SETTING_MATH,
    CVP_SETTING_NUM_THREADS,
    CVP_SETTING_OPENBLAS_LIBRARY,
    CVP_SETTING_TUNE_BATCH_BUCKET,
    CVP_SETTING_TUNE_BUDGET,
    CVP_SETTING_TUNE_VERIFY,
    CVP_SETTING_TUNE_WAIT,
    CVP_SETTING_VERBOSE,
    CVP_SETTING_COUNT
};

/* Values of the setting "isa", in the order in which one includes the other. */
/* neon is what an AArch64 compiler assumes, so it has no number in enum cvp_isa. */
enum cvp_isa_setting { CVP_ISA_AUTO = -1, CVP_ISA_NEON = 4 };

/* Values of the setting "autotune"; those from 0 on are written as digits too. */
enum cvp_autotune {
    CVP_AUTOTUNE_UNSET = -1,
    CVP_AUTOTUNE_OFF,
    CVP_AUTOTUNE_LIMITED,
    CVP_AUTOTUNE_FASTEST
};

/* The value of a number or a choice (its index: autotune -1 on; engine naive 0, threaded 1; isa
 * auto -1, else enum cvp_isa; math: enum convop_math). One atomic load once it is known. INVALID
 * with a text that names the variable or the call, the value and what would be allowed, as long as
 * it does not parse. */
convop_status cvp_setting_int(enum cvp_setting setting, int *value);

/* The same without an error: `fallback` as long as it does not parse. Sets no text. */
int cvp_setting_int_or(enum cvp_setting setting, int fallback);

/* Copies the value of a text setting, "" by default. size >= 256 always suffices. */
convop_status cvp_setting_text(enum cvp_setting setting, char *value, size_t size);

#endif
