/* Checks of a status together with the sentence that comes with it. Include after cmocka.h. */
#ifndef CVP_TEST_EXPECT_H
#define CVP_TEST_EXPECT_H

#include <string.h>

#include "convop/base.h"

#define expect_ok(expr)                                                                            \
    do {                                                                                           \
        const convop_status got_ = (expr);                                                         \
        if (got_ != CONVOP_OK) fail_msg("%s: %s", #expr, convop_last_error());                     \
    } while (0)

/* The status, and all of its text. */
#define expect_text(status, sentence, expr)                                                        \
    do {                                                                                           \
        const convop_status got_ = (expr);                                                         \
        if (got_ != (status))                                                                      \
            fail_msg("%s: %s (%s)", #expr, convop_status_name(got_), convop_last_error());         \
        assert_string_equal(convop_last_error(), sentence);                                        \
    } while (0)

#endif
