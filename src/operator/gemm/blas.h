/* OpenBLAS, opened by soname when first needed into a private table, checked by a known answer,
 * never closed. Its thread count is the whole process's and is never changed. */
#ifndef CVP_BLAS_H
#define CVP_BLAS_H

#include "convop/context.h"
#include "src/operator/gemm/gemm.h"

/* The table of an OpenBLAS that may be used by `threads` threads of convop, or NULL with *why set
 * to a constant sentence: none found, "none" asked for, a wrong known answer, an OpenMP build in a
 * forked child, a thread count that does not fit.
 * Applies where OpenBLAS runs on 1 thread (then every lane calls it with its own part), or, when
 * deterministic is 0, on as many as convop (then one lane calls it for all): with several threads
 * its results depend on their number. */
struct cvp_blas;
const struct cvp_blas *cvp_blas_get(int threads, int deterministic, const char **why);

/* 1 if its own threads do the work, so that one lane must call it for all. */
int cvp_blas_is_threaded(const struct cvp_blas *blas);

/* 1 if a, b can be handed to it: each has a unit stride one way, and the sizes fit its int. */
int cvp_blas_takes(const struct cvp_gemm *g);

void cvp_blas_gemm(const struct cvp_blas *blas, enum cvp_float type, const struct cvp_gemm *g);

/* A number that changes whenever cvp_blas_get may answer otherwise, but for the settings; 0 while
 * no OpenBLAS is open. */
unsigned cvp_blas_state(void);

/* For `convop info`: what was found, e.g. "OpenBLAS 0.3.21 ... (libopenblas.so.0), 2 threads", or
 * why there is none. Opens it if that has not happened. */
void cvp_blas_describe(char *text, size_t size);

#endif
