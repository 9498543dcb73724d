/* Elements of tensors as doubles, and back with one rounding. The 16-bit types are converted here
 * on their own account: the tests share no such code with the library. */
#ifndef TESTS_CASES_ELEMENT_H
#define TESTS_CASES_ELEMENT_H

#include "convop/base.h"

/* "f16", "bf16", "f32", "f64". Ends the program for another name. */
DLDataType element_type(const char *name);
size_t element_size(DLDataType type);
double element_get(DLDataType type, const void *from);
void element_set(DLDataType type, void *to, double value);
/* The nearest value of the type. */
double element_round(DLDataType type, double value);

#endif
