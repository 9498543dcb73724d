/* The version of the library that runs, which may not be that of the header a caller saw. */
#include "convop/version.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

unsigned convop_version(void)
{
    return CONVOP_VERSION;
}

const char *convop_version_string(void)
{
    return TEXT(CONVOP_VERSION_MAJOR) "." TEXT(CONVOP_VERSION_MINOR) "." TEXT(CONVOP_VERSION_PATCH);
}
