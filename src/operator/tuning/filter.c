/* Which records a filter means. */
#include "src/operator/tuning/filter.h"

#include <string.h>

#include "src/common/status.h"

convop_status cvp_tune_filter_init(struct cvp_tune_filter *f, const char *caller,
                                   const convop_tune_filter *filter)
{
    *f = (struct cvp_tune_filter){.all = !filter, .of = CONVOP_TUNE_FILTER_INIT};
    if (filter) CVP_RETURN_IF_ERROR(cvp_read_struct(&f->of, sizeof f->of, filter, caller));
    if (f->of.foreign)
        cvp_tune_identity(f->device, sizeof f->device, f->software, sizeof f->software);
    return CONVOP_OK;
}

static int occurs(struct cvp_tune_span in, const char *text)
{
    return !text || memmem(in.at, in.length, text, strlen(text));
}

static int is(struct cvp_tune_span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.at, text, span.length) == 0;
}

int cvp_tune_filter_takes(const struct cvp_tune_filter *f, const char *line, size_t length)
{
    struct cvp_tune_fields r;
    if (f->all) return 1;
    if (!cvp_tune_decode(line, length, &r)) return 0;
    if (f->of.before && r.when >= f->of.before) return 0;
    if (f->of.foreign && is(r.device, f->device) && is(r.software, f->software)) return 0;
    return occurs(r.device, f->of.device) && occurs(r.software, f->of.software) &&
           occurs(r.problem, f->of.problem) && occurs(r.impl, f->of.impl);
}
