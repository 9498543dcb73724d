/* What convop uses of an OpenBLAS, as it was opened. Between blas.c (whether it applies),
 * blas_open.c (finding it) and blas_check.c (whether it computes rightly). */
#ifndef CVP_BLAS_TABLE_H
#define CVP_BLAS_TABLE_H

#include "src/operator/gemm/blas.h"

/* The values of the CBLAS enumerations. */
enum { CVP_CBLAS_ROW_MAJOR = 101, CVP_CBLAS_NO_TRANS = 111, CVP_CBLAS_TRANS = 112 };

struct cvp_blas {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                  const double *a, int lda, const double *b, int ldb, double beta, double *c,
                  int ldc);
    int (*num_threads)(void);
    int (*parallel)(void); /* 0: no threads, 1: its own, 2: OpenMP. May be NULL, as what follows */
    char *(*config)(void); /* "OpenBLAS 0.3.21 DYNAMIC_ARCH ..." */
    char *(*corename)(void); /* "SkylakeX" */
    const char *name;        /* what it was opened by */
};

/* The one OpenBLAS of the process, opened and checked at the first call that has the memory for it;
 * NULL with *why otherwise. The setting openblas_library counts at that moment. */
const struct cvp_blas *cvp_blas_open(const char **why);

/* Whether this process was forked after that. */
int cvp_blas_was_forked(void);

/* What the loader said, and what was found even if it is not used; "" and NULL if nothing. */
const char *cvp_blas_loader_text(void);
const struct cvp_blas *cvp_blas_found(void);

/* The known-answer test. CONVOP_E_NO_MEMORY, or CONVOP_E_INTERNAL if an answer is wrong. */
convop_status cvp_blas_check(const struct cvp_blas *blas);

#endif
