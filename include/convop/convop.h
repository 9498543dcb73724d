/* convop: neural-network operators for programs that embed them.
 * This header includes the whole public API; each part also stands alone. */
#ifndef CONVOP_CONVOP_H
#define CONVOP_CONVOP_H

#include "convop/array.h"
#include "convop/base.h"
#include "convop/context.h"
#include "convop/conv_impl.h"
#include "convop/convolution.h"
#include "convop/cuda.h"
#include "convop/engine.h"
#include "convop/info.h"
#include "convop/instance.h"
#include "convop/params.h"
#include "convop/plugin.h"
#include "convop/registry.h"
#include "convop/settings.h"
#include "convop/stages.h"
#include "convop/tune.h"
#include "convop/version.h"

#endif
