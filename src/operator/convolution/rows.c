/* The table of implementation rows. */
#include "src/operator/convolution/impl.h"

#define CONV_IMPL(row) extern const convop_conv_impl row;
#include "src/operator/convolution/impl_list.h"
#undef CONV_IMPL

static const convop_conv_impl *const builtin_rows[] = {
#define CONV_IMPL(row) &row,
#include "src/operator/convolution/impl_list.h"
#undef CONV_IMPL
};

static const struct conv_rows builtin = {builtin_rows,
                                         sizeof builtin_rows / sizeof builtin_rows[0]};

const struct conv_rows *cvp_conv_rows_acquire(void)
{
    return &builtin;
}

void cvp_conv_rows_release(const struct conv_rows *rows)
{
    (void)rows;
}
