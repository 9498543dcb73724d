/* What the layers above the registry give it, and what it tells them beyond convop/registry.h. */
#ifndef CVP_REGISTRY_INTERNAL_H
#define CVP_REGISTRY_INTERNAL_H

#include "convop/registry.h"

/* The built-in operators, in no order. Defined by src/operator/op_list.c: the registry knows of no
 * operator. A const table of references: every descriptor is linked in, also from the archive. */
extern const convop_op *const cvp_builtin_ops[];
extern const size_t cvp_num_builtin_ops;

/* How many inputs and outputs an operator has with these (checked) parameters. */
int cvp_op_num_inputs(const convop_op *op, const void *params);
int cvp_op_num_outputs(const convop_op *op, const void *params);

/* Checks a typed struct that a caller filled: struct_size, every field's limits, op->check. */
convop_status cvp_params_check(const convop_op *op, const void *params);

/* Reads a caller's typed struct, which may be smaller or larger than ours, into params_size bytes:
 * what it lacks gets its default. Checks it as above. */
convop_status cvp_params_read(const convop_op *op, const void *from, void *to);

#endif
