/* The count of changes; see epoch.h. */
#include "src/common/epoch.h"

#include <stdatomic.h>

#include "convop/settings.h"

static _Atomic uint64_t epoch = 1;

uint64_t cvp_epoch(void)
{
    return atomic_load_explicit(&epoch, memory_order_acquire);
}

uint64_t convop_epoch(void)
{
    return cvp_epoch();
}

void cvp_epoch_advance(void)
{
    atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
}
