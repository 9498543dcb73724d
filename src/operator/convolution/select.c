/* Choosing the row: policy only. */
#include <string.h>

#include "src/common/log.h"
#include "src/common/settings.h"
#include "src/common/status.h"
#include "src/common/text.h"
#include "src/operator/convolution/impl.h"

static convop_status no_row(const struct conv_problem *p)
{
    char problem[256], reasons[512];
    cvp_conv_problem_describe(p, problem, sizeof problem);
    struct cvp_text t = cvp_text_in(reasons, sizeof reasons);
    for (const struct conv_impl *const *row = cvp_conv_impls(p->dir); *row; row++) {
        char why[CONV_WHY_SIZE] = "";
        if (!(*row)->applicable(p, why)) cvp_text_add(&t, "; %s: %s", (*row)->name, why);
    }
    return convop_fail(CONVOP_E_UNSUPPORTED, "Convolution: no implementation runs %s of %s%s",
                       cvp_conv_direction_name(p->dir), problem, reasons);
}

/* The row that the setting names; the bias gradient, which has one row, is left alone. */
static convop_status select_named(const struct conv_problem *p, const char *name,
                                  const struct conv_impl **impl)
{
    const char *names[32];
    size_t n = 0;
    for (const struct conv_impl *const *row = cvp_conv_impls(p->dir); *row; row++) {
        if (n < 32) names[n++] = (*row)->name;
        if (strcmp((*row)->name, name) != 0) continue;
        char why[CONV_WHY_SIZE] = "";
        if (!(*row)->applicable(p, why))
            return convop_fail(
                CONVOP_E_UNSUPPORTED,
                "Convolution: implementation %s, which the setting impl asks for, does "
                "not run this %s: %s",
                name, cvp_conv_direction_name(p->dir), why);
        *impl = *row;
        return CONVOP_OK;
    }
    const char *near = cvp_nearest(name, names, n);
    return convop_fail(
        CONVOP_E_INVALID, "Convolution: the setting impl asks for %s, which %s does not have%s%s",
        name, cvp_conv_direction_name(p->dir), near ? "; the nearest is " : "", near ? near : "");
}

convop_status cvp_conv_select(const struct conv_problem *p, const struct conv_impl **impl)
{
    char name[256];
    CVP_RETURN_IF_ERROR(cvp_setting_text(CVP_SETTING_IMPL, name, sizeof name));
    const struct conv_impl *const *rows = cvp_conv_impls(p->dir);
    if (name[0] && rows[0] && rows[1]) return select_named(p, name, impl);

    for (const struct conv_impl *const *row = rows; *row; row++) {
        char why[CONV_WHY_SIZE] = "";
        if ((*row)->applicable(p, why)) {
            *impl = *row;
            return CONVOP_OK;
        }
        if (cvp_verbose(2))
            cvp_log(NULL, "dispatch,Convolution,%s,%s,no,%s", cvp_conv_direction_name(p->dir),
                    (*row)->name, why);
    }
    return no_row(p);
}
