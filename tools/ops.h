/* How `convop ops` shows operators. ops.c decides what is shown. */
#ifndef OPS_H
#define OPS_H

#include "convop/registry.h"

/* A table: name, inputs, outputs, first sentence of the documentation. */
void ops_table(const convop_op_listing *listing);

/* A page on one operator, in the manner of a manual page. */
void ops_page(const convop_op *op);

/* Everything that the descriptor says, as one JSON object. */
void ops_json(const convop_op *op);

/* Every implementation of Convolution for a problem as benchdnn writes it; answers an exit status.
 */
int ops_rows(const char *problem, int json);

/* The type of a field as one word: "bool", "int", "float", "enum", "tuple", "bytes". */
const char *ops_kind_name(convop_field_kind kind);

/* 1 if the field has a lowest or a highest value that is worth naming. */
int ops_has_min(const convop_field *field);
int ops_has_max(const convop_field *field);

#endif
