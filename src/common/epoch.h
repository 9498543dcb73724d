/* A count that goes up whenever something changes that a choice may depend on: a setting, a
 * registered row, the tuning cache. Who keeps a choice keeps the count with it. */
#ifndef CVP_COMMON_EPOCH_H
#define CVP_COMMON_EPOCH_H

#include <stdint.h>

/* One atomic load. */
uint64_t cvp_epoch(void);

/* To be called after the change is visible. */
void cvp_epoch_advance(void);

#endif
