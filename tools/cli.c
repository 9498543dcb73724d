/* Error sentences, checks of the settings and of the tuning cache, and the care for stdout. */
#include "tools/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convop/settings.h"
#include "convop/tune.h"

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("convop: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return CLI_FAILURE;
}

int cli_check_settings(void)
{
    convop_setting_info s;
    memset(&s, 0, sizeof s);
    s.struct_size = sizeof s;
    for (size_t i = 0; convop_setting_at(i, &s) == CONVOP_OK; i++)
        if (s.status != CONVOP_OK)
            return cli_fail("%s is \"%s\"; allowed: %s", s.environment, s.value, s.values);
    return CLI_OK;
}

int cli_check_kept(void)
{
    char why[512];
    convop_tune_path(NULL, 0, why, sizeof why);
    return why[0] ? cli_fail("not kept, the tuning cache cannot be written: %s", why) : CLI_OK;
}

static void close_stdout(void)
{
    /* A write that failed earlier leaves the error flag and often no errno. */
    int failed = ferror(stdout);
    errno = 0;
    if (fclose(stdout) != 0) failed = 1;
    if (!failed) return;
    cli_fail("the output could not be written%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "");
    _exit(CLI_FAILURE);
}

void cli_watch_stdout(void)
{
    signal(SIGPIPE, SIG_IGN);
    atexit(close_stdout);
}
