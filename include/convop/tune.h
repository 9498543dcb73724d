/* Tuning: which implementation is the fastest for a problem, measured once and kept.
 *
 * A call takes the row that the setting "impl" names; else what the cache says of the problem; else
 * what the setting "autotune", or the operator's parameter cudnn_tune, allows:
 *
 *     unset  (neither is given)      the estimate; nothing is measured, no file is written
 *     off    (autotune=0)            the estimate, and the cache is not asked either
 *     limited_workspace (1)          measured among the rows within the workspace limit, and kept
 *     fastest (2)                    measured without the parameter's limit, and kept; the
 *                                    workspace that a caller brings along still bounds it
 *
 * The cache is a text file that people may read, merge, ship and check in: docs/tuning.md has its
 * format. It lies in the setting "cache_dir", else $XDG_CACHE_HOME/convop, else ~/.cache/convop; a
 * read-only one of the system lies below it. It is read when first needed.
 *
 * Every function here may be called from any thread, in many processes at once. Since 0.1. */
#ifndef CONVOP_TUNE_H
#define CONVOP_TUNE_H

#include "convop/base.h"
#include "convop/context.h"
#include "convop/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of one problem. Texts have no tab, newline or other control character; they are
 *  borrowed, for as long as the function or the listing that gives them says. */
typedef struct convop_tune_record {
    size_t struct_size;
    const char *device;   /* what it was measured on: "cpu=Intel(R) Xeon(R);isa=avx512;..." */
    const char *software; /* what measured it: versions of the rows; of cuDNN and the driver */
    const char *problem;  /* all else that can change the winner, in the syntax of bench */
    const char *impl;     /* the winner's name ... */
    int impl_version;     /* ... and version */
    double ms;            /* its time; 0: chosen for a GPU that was not there (convop/cuda.h) */
    double estimated_ms;  /* the time of the row that the estimate names; 0: not measured */
    uint64_t workspace_bytes;
    int64_t when;     /* seconds since 1970-01-01, UTC */
    const char *plan; /* the row's own notes (cuDNN's plan as JSON), "" if it has none */
} convop_tune_record;

/* ---- the cache ------------------------------------------------------------------------------ */

/** The format of the files that this version writes, and the latest that it reads. */
#define CONVOP_TUNE_FORMAT 1

/** What a reading of a file found. */
typedef struct convop_tune_counts {
    size_t struct_size;
    size_t records; /* taken */
    size_t bad;     /* lines that are torn, altered or of no known form: left out */
    int format;     /* of the file; 0: it has no header. A newer one than ours: nothing is taken */
} convop_tune_counts;

/** Adds the records of a file to the cache of this process and to its file, where there is one. Of
 *  equal keys the later `when` counts.
 *  @param counts  may be NULL
 *  @return INVALID (path is NULL), NOT_FOUND, IO, NO_MEMORY */
CONVOP_API convop_status convop_tune_import(const char *path, convop_tune_counts *counts);

/** Writes all that this process knows, those of the files it has read among it, sorted, by a new
 *  file and a rename. @return INVALID, IO (the text says what the system said), NO_MEMORY */
CONVOP_API convop_status convop_tune_export(const char *path);

/** Which records are meant: each text that is not NULL must occur in the record's. */
typedef struct convop_tune_filter {
    size_t struct_size;
    const char *device, *software, *problem, *impl;
    int64_t before; /* only those with an earlier `when`; 0: any */
    int foreign; /* 1: only those that no device of this machine uses with these versions. Choices
                    of this version for GPUs that are elsewhere, which have no time
                    (convop_cuda_plan_conv), are none of them */
} convop_tune_filter;

#define CONVOP_TUNE_FILTER_INIT                                                                    \
    {                                                                                              \
        sizeof(convop_tune_filter), NULL, NULL, NULL, NULL, 0, 0                                   \
    }

/** Forgets records, in this process and in its file, which is compacted; the system's file is left
 *  alone. filter NULL: all. @param count  how many; may be NULL. @return IO, NO_MEMORY */
CONVOP_API convop_status convop_tune_forget(const convop_tune_filter *filter, size_t *count);

/** A snapshot of the records, sorted by device, software and problem. Texts live as long as it. */
typedef struct convop_tune_listing convop_tune_listing;
CONVOP_API convop_status convop_tune_list(const convop_tune_filter *filter,
                                          convop_tune_listing **out);
CONVOP_API size_t convop_tune_listing_count(const convop_tune_listing *listing);
/** The index-th record; NULL past the last one. */
CONVOP_API const convop_tune_record *convop_tune_listing_at(const convop_tune_listing *listing,
                                                            size_t index);
CONVOP_API void convop_tune_listing_destroy(convop_tune_listing **listing);

/** The path of the cache's file, or "" where there is none, and why it cannot be written to, or "".
 *  As snprintf: returns the length of the path. */
CONVOP_API size_t convop_tune_path(char *path, size_t size, char *why, size_t why_size);

/** A host that keeps records itself. `lookup` is asked before the cache's own records, with device,
 *  software and problem set: it fills the rest, texts that live until it is called again on this
 *  thread, and returns 1, or returns 0. `store` gets every new record. Either may be NULL. With
 *  them set, no file is written. They run with no lock held, on any thread, many at once.
 *  callbacks NULL: takes them back; when that returns, none runs any more. */
typedef struct convop_tune_callbacks {
    size_t struct_size;
    int (*lookup)(void *user, convop_tune_record *record);
    void (*store)(void *user, const convop_tune_record *record);
    void *user;
} convop_tune_callbacks;
CONVOP_API convop_status convop_tune_set_callbacks(const convop_tune_callbacks *callbacks);

/* ---- measuring ------------------------------------------------------------------------------ */

typedef struct convop_tune_options {
    size_t struct_size;
    double budget_ms; /* for all rows of the problem; 0: the setting "tune_budget" */
    int again;        /* 1: measures even if the cache knows the problem */
    int verify;       /* 1: a row whose result differs from the first one's is left out and
                         reported in why_not (not on a GPU); -1: as the setting "tune_verify" */
    int keep;         /* 1: the winner goes into the cache */
    int fastest;      /* 1: without the parameter's workspace limit */
} convop_tune_options;

#define CONVOP_TUNE_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(convop_tune_options), 0, 0, -1, 1, 0                                                \
    }

/** Measures the rows of one direction of a problem, on memory of its own, and says what it found:
 *  rows as convop_conv_explain gives them, with their times. Data of the tensors is not read and
 * may be NULL.
 *  @param options  NULL is all defaults
 *  @return as convop_conv_explain; NO_MEMORY for the buffers */
CONVOP_API convop_status convop_conv_tune(const convop_conv_params *params,
                                          convop_conv_direction direction, const DLTensor *src,
                                          const DLTensor *weights, const DLTensor *dst,
                                          const convop_exec *exec,
                                          const convop_tune_options *options, convop_conv_row *rows,
                                          size_t *count);

#ifdef __cplusplus
}
#endif

#endif
