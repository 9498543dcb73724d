/* Settings of the process: each has a name, an environment variable CONVOP_<NAME> and a call.
 * An explicit call wins over the environment, the environment over an operator's own parameter,
 * that over the default. The environment is read at first use; a value that does not parse
 * is an error of the call that needs it, never a silent default.
 *
 *  verbose           0      1: a line for each primitive that ran; 2: and how it was chosen; 3: and
 *                           what estimates count and engines do
 *  autotune          unset  unset, 0 (off), 1 (limited_workspace), 2 (fastest): convop/tune.h
 *  cache_dir         ""     folder of the tuning cache; empty: the user's; "none": no file
 *  tune_batch_bucket 0      1: batches up to the same power of two share what was measured
 *  tune_budget       1000   milliseconds that measuring one problem may take
 *  tune_verify       0      1: a row whose result differs does not win
 *  tune_wait         1      0: a thread that needs what another is measuring takes the estimate
 *  num_threads       0      threads of a parallel loop; 0: as affinity and the cgroup allow
 *  light_work        20     microseconds of one thread that are not worth waking another
 *  isa               auto   highest instruction set in use: baseline, avx2, avx512, amx or neon
 *  engine            threaded   kind of a new engine: naive or threaded
 *  math              default  strict: results are as exact as sums of products in their type are;
 *                           default: rows with a wider bound, as Winograd's, compete too; tf32: and
 *                           products in TF32 (docs/numerics.md)
 *  impl              ""     run this implementation row, or nothing
 *  deterministic     1      same bits whatever the number of threads
 *  cuda_library      ""     path or soname of the CUDA driver to open; "none" opens none
 *  cudnn_library     ""     the same for cuDNN; empty: what the program has loaded comes first
 *  openblas_library  ""     path or soname of the OpenBLAS to open; "none" opens none */
#ifndef CONVOP_SETTINGS_H
#define CONVOP_SETTINGS_H

#include "convop/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum convop_origin {
    CONVOP_ORIGIN_DEFAULT = 0,
    CONVOP_ORIGIN_ENVIRONMENT = 1,
    CONVOP_ORIGIN_CALL = 2
} convop_origin;

typedef struct convop_setting_info {
    size_t struct_size;
    const char *name;        /* "num_threads" */
    const char *environment; /* "CONVOP_NUM_THREADS" */
    const char *doc;         /* one sentence */
    const char *values;      /* what may be written: "0..4096" */
    char value[256];         /* the value in force, as text (cut off at 255 bytes) */
    convop_origin origin;    /* where that value came from */
    convop_status status;    /* INVALID: the value does not parse */
} convop_setting_info;

/** Sets a setting; value NULL takes the call back, so that the environment counts again.
 *  isa, num_threads and the libraries count for what is first used after the call.
 *  @return NOT_FOUND for an unknown name (the text names the nearest), INVALID for a bad value
 *  Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_set(const char *name, const char *value);

/** The index-th setting, in alphabetical order. info->struct_size is set by the caller.
 *  @return NOT_FOUND past the last one. Thread-safe. Since 0.1. */
CONVOP_API convop_status convop_setting_at(size_t index, convop_setting_info *info);

/** A count that goes up after a setting, a registered row or the tuning cache has changed: keep it,
 *  as it was before, with what followed from them. One atomic load. Thread-safe. Since 0.1. */
CONVOP_API uint64_t convop_epoch(void);

#ifdef __cplusplus
}
#endif

#endif
