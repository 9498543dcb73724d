/* The check of a row's descriptor, so that a half-filled one is an error at its registration
 * instead of a crash at the first plan. */
#include "src/common/status.h"
#include "src/operator/convolution/impl.h"

/* Above it struct_size was not set; reading that far would leave the caller's memory. */
#define MAX_STRUCT_SIZE 4096

/* Up to here the members have been there since the first version. */
#define MIN_STRUCT_SIZE offsetof(convop_conv_impl, estimate)

/* A descriptor of a later convop may be larger; what lies behind ours must ask for nothing. */
static convop_status check_size(const char *caller, const convop_conv_impl *impl)
{
    if (!impl) return convop_fail(CONVOP_E_INVALID, "%s: impl is NULL", caller);
    size_t size = impl->struct_size;
    if (size < MIN_STRUCT_SIZE || size > MAX_STRUCT_SIZE)
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the descriptor's struct_size is %zu, allowed is %zu..%d", caller,
                           size, MIN_STRUCT_SIZE, MAX_STRUCT_SIZE);
    const unsigned char *bytes = (const unsigned char *)impl;
    for (size_t i = sizeof *impl; i < size; i++)
        if (bytes[i])
            return convop_fail(CONVOP_E_INVALID,
                               "%s: the descriptor's byte %zu is set, this convop knows %zu bytes",
                               caller, i, sizeof *impl);
    return CONVOP_OK;
}

convop_status cvp_conv_impl_check(const char *caller, const convop_conv_impl *impl)
{
    CVP_RETURN_IF_ERROR(check_size(caller, impl));
    if (!impl->name || !impl->name[0])
        return convop_fail(CONVOP_E_INVALID, "%s: the descriptor's name is NULL or empty", caller);
    if ((unsigned)impl->direction > CONVOP_BWD_B)
        return convop_fail(CONVOP_E_INVALID, "%s: %s: the direction is %d, allowed is 0..3", caller,
                           impl->name, (int)impl->direction);
    if (impl->level < 1)
        return convop_fail(CONVOP_E_INVALID, "%s: %s: the level is %d, needed is >= 1", caller,
                           impl->name, impl->level);
    if (!(cvp_conv_error_bound(impl) >= 0))
        return convop_fail(CONVOP_E_INVALID, "%s: %s: the error_bound is %g, needed is >= 0",
                           caller, impl->name, impl->error_bound);
    const int cuts = cvp_conv_cuts(impl);
    if (cuts && impl->cut_size > CONVOP_CONV_CUT_SIZE)
        return convop_fail(CONVOP_E_INVALID, "%s: %s: the cut_size is %zu, allowed is 0..%d",
                           caller, impl->name, impl->cut_size, CONVOP_CONV_CUT_SIZE);
    const char *missing = !impl->applicable && !cuts          ? "applicable"
                          : !impl->run                        ? "run"
                          : impl->packed_bytes && !impl->pack ? "pack, which packed_bytes needs,"
                                                              : NULL;
    if (missing)
        return convop_fail(CONVOP_E_INVALID, "%s: %s: the descriptor's %s is NULL", caller,
                           impl->name, missing);
    return CONVOP_OK;
}
