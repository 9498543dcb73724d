/* What the smaller operators share: shapes that must agree, dtypes that they compute, and loops
 * over the elements of tensors with any strides. */
#ifndef CVP_OPERATOR_COMMON_H
#define CVP_OPERATOR_COMMON_H

#include "convop/registry.h"
#include "src/engine/parallel.h"

/* The typed struct of operators without parameters. */
struct cvp_no_params {
    size_t struct_size;
};

/* ---- inference ----------------------------------------------------------------------------- */

/* A shape for an error text: "(2, ?, 3)"; of unknown rank, "unknown". */
struct cvp_shape_text {
    char at[200];
};
struct cvp_shape_text cvp_shape_text(const convop_shape *shape);

/* Of that rank, no size known. */
convop_shape cvp_shape_unknown(int ndim);

/* Puts `want`, -1 where unknown, into *shape. INVALID where both are known and differ; `rule` ends
 * the sentence. */
convop_status cvp_shape_merge(const char *op, const char *name, convop_shape *shape,
                              const convop_shape *want, const char *rule);

/* n shapes that must be equal complete each other. args[i] names shapes[i]. */
convop_status cvp_shape_equal(const char *op, int n, const convop_arg *const *args,
                              convop_shape *const *shapes);

/* UNSUPPORTED unless float32 or float64. */
convop_status cvp_require_float(const char *op, DLDataType dtype);

/* ---- loops --------------------------------------------------------------------------------- */

/* Below so many elements a loop is faster than waking threads for it. */
#define CVP_SMALL_LOOP 16384

/* cvp_parallel over n items that touch `elements` elements together; small ones run in the calling
 * thread. */
void cvp_parallel_elements(const convop_context *context, int64_t elements, int64_t n,
                           cvp_range_body *body, void *arg);

/* Before a loop over elements whose output is one of its inputs or lies apart from them: each
 * iteration stands alone. Without it compilers test for overlap and go one by one where they see
 * it. */
#if defined __clang__
#define CVP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CVP_INDEPENDENT _Pragma("GCC ivdep")
#endif

#define CVP_MAX_OPERANDS 4

/* n elements of each operand: element i of operand k is i * step[k] elements behind at[k]. */
typedef void cvp_line_body(void *arg, int64_t n, void *const *at, const int64_t *step);

/* Calls body for lines that cover all elements once. The tensors, the output first, have one shape
 * and one element size; axes are joined where all tensors allow it, so that compact ones come in
 * lines of CVP_LINE elements with step 1. The cut follows from shapes and strides alone. */
#define CVP_LINE 8192
void cvp_elementwise(const convop_context *context, int num, const DLTensor *const *tensors,
                     cvp_line_body *body, void *arg);

/* The same in the calling thread, line after line: for sums, and inside parallel loops. */
void cvp_elementwise_here(int num, const DLTensor *const *tensors, cvp_line_body *body, void *arg);

#endif
