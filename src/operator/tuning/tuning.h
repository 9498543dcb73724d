/* The tuning cache, as operators use it: what was measured is looked up and kept by three texts.
 * It knows nothing of convolutions. Public side: convop/tune.h; the file: docs/tuning.md. */
#ifndef CVP_TUNING_H
#define CVP_TUNING_H

#include "convop/tune.h"

/* A key. Texts are borrowed for the call; no tab, newline or other control character is in them. */
struct cvp_tune_key {
    const char *device, *software, *problem;
};

/* An answer, by value but for the plan. */
struct cvp_tune_choice {
    char impl[64];
    int impl_version;
    double ms, estimated_ms;
    uint64_t workspace_bytes;
    char *plan; /* of a hit with one: owned by the caller, cvp_free; else NULL */
};

/* 1: found, in the callbacks' records, this process's, its file's or the system's, in that order.
 * The files are read at the first call. */
int cvp_tune_lookup(const struct cvp_tune_key *key, struct cvp_tune_choice *choice);

/* Keeps an answer: in memory, and in the file or the host's store. A file that cannot be written is
 * no failure; it is said once, at verbose 1. A choice replaces the one of the same key. Advances
 * cvp_epoch(). */
convop_status cvp_tune_store(const struct cvp_tune_key *key, const struct cvp_tune_choice *choice);

/* The record of a key counts no more: it names what is not there any more, or what failed. The next
 * cvp_tune_store replaces it in the file too. */
void cvp_tune_drop(const struct cvp_tune_key *key);

/* Measuring a key is one thread's work at a time. cvp_tune_begin: 1, the caller measures and must
 * call cvp_tune_end, whatever happens; 0, another thread was at it: with wait it has ended now and
 * the caller looks up again, without it goes on. No lock is held between the two, so problems do
 * not wait for each other. A child of fork() starts with none under way. */
int cvp_tune_begin(const struct cvp_tune_key *key, int wait);
void cvp_tune_end(const struct cvp_tune_key *key);

/* Records in memory, the system's among them. For `convop info`. */
size_t cvp_tune_count(void);

/* What this machine's keys begin with, for convop_tune_filter.foreign: a line "device\tsoftware\n"
 * for the CPU, then for each kind of GPU; the software of the GPUs begins with that of the CPU.
 * Defined by whoever makes keys, and need not have been asked for a key before. */
#define CVP_TUNE_IDENTITY 16384
void cvp_tune_identity(char *lines, size_t size);

/* Makes what all keys of the CPU begin with, for it is done once: when a file is read, so that the
 * first look-up does not wait for it. Defined by the same. */
void cvp_tune_name_cpu(void);

#endif
