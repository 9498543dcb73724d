/* Lines for whoever asked for them: off by default, to a sink or to stderr. */
#ifndef CVP_COMMON_LOG_H
#define CVP_COMMON_LOG_H

#include "convop/context.h"

struct cvp_sink {
    convop_log_sink write;
    void *user;
};

/* 1 if the setting "verbose" is at least level. One atomic load. A setting that does not parse
 * counts as 0 here; the call that checks settings reports it. */
int cvp_verbose(int level);

/* Writes one line, printf-formatted, cut off at 1023 bytes, as "convop,v1,<line>".
 * sink NULL (or write NULL): the process sink. Ask cvp_verbose first. */
void cvp_log(const struct cvp_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
