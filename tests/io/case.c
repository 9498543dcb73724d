/* Reading one case of cases.json, and checking its error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/io/case.h"
#include "tests/io/support.h"

json_t *case_params(json_t *c)
{
    return json_object_get(c, "params");
}

const char *case_text(json_t *params, const char *key)
{
    const char *text = json_string_value(json_object_get(params, key));
    return text ? text : "";
}

void case_expect_error(json_t *c, convop_status status, const char *also)
{
    const json_t *words = json_object_get(json_object_get(case_params(c), "error"), "mention_any");
    if (status == CONVOP_OK) fail_msg("%s: no error", case_text(c, "id"));
    int found = json_array_size(words) == 0;
    for (size_t i = 0; i < json_array_size(words); i++)
        found |= test_mentions(convop_last_error(), json_string_value(json_array_get(words, i)));
    if (!found || (also && !strstr(convop_last_error(), also)))
        fail_msg("%s: %s", case_text(c, "id"), convop_last_error());
}

int case_is(json_t *c, const char *id)
{
    return strcmp(case_text(c, "id"), id) == 0;
}

struct cvp_io_record case_file(const char *id)
{
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (case_is(json_array_get(cases, i), id))
            return test_hex(case_text(case_params(json_array_get(cases, i)), "file_hex"));
    fail_msg("there is no case %s", id);
    return (struct cvp_io_record){0};
}
