/* Reading one case of cases.json. */
#ifndef TESTS_IO_CASE_H
#define TESTS_IO_CASE_H

#include <jansson.h>

#include "convop/base.h"
#include "io/record.h"

extern json_t *cases; /* the whole list */

json_t *case_params(json_t *c);
/* "" if there is none. */
const char *case_text(json_t *params, const char *key);
int case_is(json_t *c, const char *id);
/* The file of the case with that id; free it. */
struct cvp_io_record case_file(const char *id);
/* Fails the test unless the status is an error whose text has one of the case's words, and `also`,
 * which may be NULL. */
void case_expect_error(json_t *c, convop_status status, const char *also);

/* The cases of the image iterator. */
void case_one_bad_of_ten(json_t *c);
void case_smaller_than_crop(json_t *c);
void case_close_early(json_t *c);

#endif
