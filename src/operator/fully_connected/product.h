/* A product of matrices that lie in tensors of any strides:
 *
 *     c[i][j] = (add ? c[i][j] : 0) + bias[j] + sum over p of a[i][p] * b[p][j]
 *
 * Where the GEMM can take a tensor as it lies, it does; else it gets a copy; and where copies and
 * the GEMM's own scratch exceed the limit, plain loops do it in place. */
#ifndef CVP_FC_PRODUCT_H
#define CVP_FC_PRODUCT_H

#include "convop/registry.h"
#include "src/operator/gemm/gemm_tasks.h"
#include "src/operator/group.h"

/* A matrix in a tensor: an index for its rows, one for its columns. */
struct fc_matrix {
    struct cvp_group rows, columns;
};

/* Dimensions before `split` are the rows. */
struct fc_matrix cvp_fc_matrix(const DLTensor *t, int split);
struct fc_matrix cvp_fc_transposed(struct fc_matrix m);

struct fc_side {
    struct fc_matrix at; /* the caller's */
    size_t copy_bytes;   /* of a compact copy, 0: none is made */
    int64_t row, column; /* strides that the GEMM sees */
};

/* Immutable once made; may run in many threads. */
struct fc_product {
    int64_t m, n, k;
    DLDataType dtype;
    int add, has_bias;
    int64_t bias_stride;
    struct fc_side a, b, c;
    struct cvp_gemm_choice gemm;
    struct cvp_gemm_lanes lanes; /* none: plain loops */
    int64_t m_block, n_block, tasks;
    size_t bytes; /* of workspace */
};

/* bias NULL: none; else a vector of n. UNSUPPORTED or INVALID for a setting that does not parse. */
convop_status cvp_fc_product_init(struct fc_product *product, struct fc_matrix a,
                                  struct fc_matrix b, struct fc_matrix c, const DLTensor *bias,
                                  const convop_op_args *args, DLDataType dtype, int add);

/* workspace: product->bytes. bias as it was for init. */
void cvp_fc_product_run(const struct fc_product *product, const void *a, const void *b,
                        const void *bias, void *c, const convop_context *context, void *workspace);

#endif
