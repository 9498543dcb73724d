/* Is a descriptor complete? Asked once, when it is registered. */
#ifndef CVP_REGISTRY_DESCRIPTOR_H
#define CVP_REGISTRY_DESCRIPTOR_H

#include "convop/registry.h"

/* Everything that the library relies on later. INVALID; the text names the member. */
convop_status cvp_descriptor_check(const char *caller, const convop_op *op);

/* One attribute; struct_size, key, type and value. */
convop_status cvp_descriptor_check_attr(const char *op_name, const convop_attr *attr);

/* The little that every call checks of an operator handed to it: there, large enough, named. */
convop_status cvp_descriptor_usable(const char *caller, const convop_op *op);

#endif
