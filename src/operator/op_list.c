/* The table of built-in operators. It refers to each descriptor, so that each is linked in from the
 * static archive too, and needs no constructor and no lock. */
#include "src/registry/registry_internal.h"

#define CVP_BUILTIN_OP(name) extern CONVOP_OP(name);
#include "src/operator/op_list.h"
#undef CVP_BUILTIN_OP

const convop_op *const cvp_builtin_ops[] = {
#define CVP_BUILTIN_OP(name) &cvp_op_##name,
#include "src/operator/op_list.h"
#undef CVP_BUILTIN_OP
};

const size_t cvp_num_builtin_ops = sizeof cvp_builtin_ops / sizeof cvp_builtin_ops[0];
