/* Element types. Codes are DLPack's; bool is newer than some headers that convop is built with. */
#include <stdio.h>

#include "src/common/status.h"
#include "src/common/tensor.h"

enum { INT = 0, UINT = 1, FLOAT = 2, HANDLE = 3, BFLOAT = 4, COMPLEX = 5, BOOL = 6, CODES };

/* The allowed bits are one bit each, so a mask holds those of a code. */
static const unsigned char allowed_bits[CODES] = {
    [INT] = 8 | 16 | 32 | 64, [UINT] = 8 | 16 | 32 | 64,
    [FLOAT] = 16 | 32 | 64,   [BFLOAT] = 16,
    [COMPLEX] = 64 | 128,     [BOOL] = 8,
};

static const char *const names[CODES] = {
    [INT] = "int",       [UINT] = "uint",       [FLOAT] = "float", [HANDLE] = "handle",
    [BFLOAT] = "bfloat", [COMPLEX] = "complex", [BOOL] = "bool",
};

convop_status cvp_dtype_check(const char *op, const char *name, DLDataType dtype)
{
    char text[16];
    if (dtype.lanes != 1)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has type %s with %d lanes, want 1", op, name,
                           cvp_dtype_name(dtype, text), dtype.lanes);
    if (dtype.code >= CODES || allowed_bits[dtype.code] == 0)
        return convop_fail(CONVOP_E_INVALID, "%s: %s has an unknown type, code %d with %d bits", op,
                           name, dtype.code, dtype.bits);
    int is_one_bit = dtype.bits != 0 && (dtype.bits & (dtype.bits - 1)) == 0;
    if (!is_one_bit || !(allowed_bits[dtype.code] & dtype.bits))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has type %s with %d bits, which does not exist", op, name,
                           names[dtype.code], dtype.bits);
    return CONVOP_OK;
}

size_t cvp_dtype_size(DLDataType dtype)
{
    unsigned bits = (unsigned)dtype.bits * dtype.lanes;
    return bits % 8 == 0 ? bits / 8 : 0;
}

int cvp_dtype_equal(DLDataType a, DLDataType b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

const char *cvp_dtype_name(DLDataType dtype, char text[16])
{
    char lanes[8] = "";
    if (dtype.lanes != 1) snprintf(lanes, sizeof(lanes), "x%d", dtype.lanes);
    if (dtype.code >= CODES) {
        snprintf(text, 16, "%d:%d%s", dtype.code, dtype.bits, lanes);
    } else if (dtype.code == BOOL && dtype.bits == 8) {
        snprintf(text, 16, "bool%s", lanes);
    } else {
        snprintf(text, 16, "%s%d%s", names[dtype.code], dtype.bits, lanes);
    }
    return text;
}
