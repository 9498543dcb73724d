/* Whether OpenBLAS may be used here and for these operands, and the call. */
#include "src/operator/gemm/blas.h"

#include "src/common/size.h"
#include "src/common/text.h"
#include "src/operator/gemm/blas_table.h"

#define OPENMP 2

const struct cvp_blas *cvp_blas_get(int threads, int deterministic, const char **why)
{
    const struct cvp_blas *blas = cvp_blas_open(why);
    if (!blas) return NULL;
    /* One that cannot say what it was built with is treated as the worse kind. */
    if (cvp_blas_was_forked() && (!blas->parallel || blas->parallel() == OPENMP)) {
        *why = "OpenBLAS was built with OpenMP, whose threads are lost in a forked child";
        return NULL;
    }
    const int own = blas->num_threads();
    if (own <= 1) return blas;
    if (deterministic) {
        *why = "OpenBLAS runs on several threads, so that its results would depend on their number";
        return NULL;
    }
    if (own != threads) {
        *why = "OpenBLAS runs on another number of threads than convop";
        return NULL;
    }
    return blas;
}

int cvp_blas_is_threaded(const struct cvp_blas *blas)
{
    return blas->num_threads() > 1;
}

unsigned cvp_blas_state(void)
{
    const struct cvp_blas *blas = cvp_blas_found();
    if (!blas) return 0;
    return (unsigned)blas->num_threads() << 1 | (unsigned)(cvp_blas_was_forked() != 0);
}

/* How a rows x cols operand is handed over: as it lies, or as its transpose. */
static int operand(int64_t row, int64_t col, int64_t rows, int64_t cols, int *trans, int64_t *ld)
{
    if (col == 1 && row >= cvp_max_i64(1, cols)) {
        *trans = CVP_CBLAS_NO_TRANS;
        *ld = row;
        return 1;
    }
    if (row == 1 && col >= cvp_max_i64(1, rows)) {
        *trans = CVP_CBLAS_TRANS;
        *ld = col;
        return 1;
    }
    return 0;
}

int cvp_blas_takes(const struct cvp_gemm *g)
{
    int trans;
    int64_t lda, ldb;
    if (g->m < 1 || g->n < 1 || g->k < 1 || g->c_row < g->n) return 0;
    if (!operand(g->a_row, g->a_col, g->m, g->k, &trans, &lda)) return 0;
    if (!operand(g->b_row, g->b_col, g->k, g->n, &trans, &ldb)) return 0;
    const int64_t largest =
        cvp_max_i64(cvp_max_i64(g->m, g->k), cvp_max_i64(g->c_row, cvp_max_i64(lda, ldb)));
    return largest <= INT32_MAX;
}

void cvp_blas_gemm(const struct cvp_blas *blas, enum cvp_float type, const struct cvp_gemm *g)
{
    int trans_a, trans_b;
    int64_t lda, ldb;
    if (!operand(g->a_row, g->a_col, g->m, g->k, &trans_a, &lda) ||
        !operand(g->b_row, g->b_col, g->k, g->n, &trans_b, &ldb))
        return;
    if (type == CVP_F32)
        blas->sgemm(CVP_CBLAS_ROW_MAJOR, trans_a, trans_b, (int)g->m, (int)g->n, (int)g->k, 1.0f,
                    g->a, (int)lda, g->b, (int)ldb, g->accumulate ? 1.0f : 0.0f, g->c,
                    (int)g->c_row);
    else
        blas->dgemm(CVP_CBLAS_ROW_MAJOR, trans_a, trans_b, (int)g->m, (int)g->n, (int)g->k, 1.0,
                    g->a, (int)lda, g->b, (int)ldb, g->accumulate ? 1.0 : 0.0, g->c, (int)g->c_row);
}

void cvp_blas_describe(char *buffer, size_t size)
{
    struct cvp_text text = cvp_text_in(buffer, size);
    const char *why;
    const struct cvp_blas *usable = cvp_blas_open(&why);
    const struct cvp_blas *blas = cvp_blas_found();
    if (!blas) {
        cvp_text_add(&text, "none: %s", why);
        if (cvp_blas_loader_text()[0]) cvp_text_add(&text, " (%s)", cvp_blas_loader_text());
        return;
    }
    cvp_text_add(&text, "%s (%s)", blas->config ? blas->config() : "OpenBLAS", blas->name);
    if (blas->corename) cvp_text_add(&text, ", kernels for %s", blas->corename());
    const int threads = blas->num_threads();
    cvp_text_add(&text, ", %d thread%s", threads, threads == 1 ? "" : "s");
    if (!usable) cvp_text_add(&text, "; not used: %s", why);
}
