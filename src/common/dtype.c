/* Element types. Codes are DLPack 1.3's; the header that convop is built with may be older and lack
 * the names. */
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

/* Types that DLPack 1.1 added: known by name, so that the refusal can say it, and nothing more. */
static const char *const small_names[] = {
    [7] = "float8_e3m4",      [8] = "float8_e4m3",      [9] = "float8_e4m3b11fnuz",
    [10] = "float8_e4m3fn",   [11] = "float8_e4m3fnuz", [12] = "float8_e5m2",
    [13] = "float8_e5m2fnuz", [14] = "float8_e8m0fnu",  [15] = "float6_e2m3fn",
    [16] = "float6_e3m2fn",   [17] = "float4_e2m1fn",
};

convop_status cvp_dtype_check(const char *op, const char *name, DLDataType dtype)
{
    char text[16];
    if (dtype.code < sizeof(small_names) / sizeof(small_names[0]) && small_names[dtype.code])
        return convop_fail(CONVOP_E_UNSUPPORTED,
                           "%s: %s has type %s; types below 16 bits are "
                           "integers and bool here",
                           op, name, small_names[dtype.code]);
    if (dtype.code == HANDLE)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: %s has the opaque type, whose elements mean "
                           "nothing here",
                           op, name);
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
