/* Which records a filter means. */
#include "src/operator/tuning/filter.h"

#include <string.h>

#include "src/common/status.h"

convop_status cvp_tune_filter_init(struct cvp_tune_filter *f, const char *caller,
                                   const convop_tune_filter *filter)
{
    *f = (struct cvp_tune_filter){.all = !filter, .of = CONVOP_TUNE_FILTER_INIT};
    if (filter) CVP_RETURN_IF_ERROR(cvp_read_struct(&f->of, sizeof f->of, filter, caller));
    if (f->of.foreign) cvp_tune_identity(f->own, sizeof f->own);
    return CONVOP_OK;
}

static int occurs(struct cvp_tune_span in, const char *text)
{
    return !text || memmem(in.at, in.length, text, strlen(text));
}

/* One of this machine's devices, with these versions. */
static int is_own(const char *own, const struct cvp_tune_fields *r)
{
    for (const char *end; (end = strchr(own, '\n')); own = end + 1) {
        const size_t length = (size_t)(end - own);
        if (length == r->device.length + 1 + r->software.length &&
            memcmp(own, r->device.at, r->device.length) == 0 &&
            memcmp(end - r->software.length, r->software.at, r->software.length) == 0)
            return 1;
    }
    return 0;
}

/* Chosen, not measured, by this version, for a device that is elsewhere. */
static int is_for_others(const char *own, const struct cvp_tune_fields *r)
{
    const char *software = strchr(own, '\t') + 1;
    const size_t length = (size_t)(strchr(own, '\n') - software);
    return r->ms == 0 && r->software.length > length &&
           memcmp(r->software.at, software, length) == 0 && r->software.at[length] == ';';
}

int cvp_tune_filter_takes(const struct cvp_tune_filter *f, const char *line, size_t length)
{
    struct cvp_tune_fields r;
    if (f->all) return 1;
    if (!cvp_tune_decode(line, length, &r)) return 0;
    if (f->of.before && r.when >= f->of.before) return 0;
    if (f->of.foreign && (is_own(f->own, &r) || is_for_others(f->own, &r))) return 0;
    return occurs(r.device, f->of.device) && occurs(r.software, f->of.software) &&
           occurs(r.problem, f->of.problem) && occurs(r.impl, f->of.impl);
}
