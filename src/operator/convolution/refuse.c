/* Why a row does not take a problem, and why none was chosen. */
#include <stdarg.h>
#include <string.h>

#include "src/common/status.h"
#include "src/common/text.h"
#include "src/operator/convolution/select.h"

int cvp_conv_refuse(char why[CONVOP_WHY_SIZE], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, CONVOP_WHY_SIZE, format, args);
    va_end(args);
    return 0;
}

int cvp_conv_is_named(const struct conv_rows *rows, const char *name, const convop_conv_problem *p)
{
    if (p->direction != CONVOP_BWD_B) return name[0] != '\0';
    const struct conv_row_list list = cvp_conv_rows_for(rows, p);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.at[i]->name, name) == 0) return 1;
    return 0;
}

static int refuses(const struct conv_plan *plan, const convop_conv_impl *row,
                   char why[CONVOP_WHY_SIZE])
{
    struct conv_candidate candidate;
    return !cvp_conv_rate(plan, NULL, 0, row, &candidate, why);
}

static convop_status fail_by_name(const struct conv_plan *plan, struct conv_row_list rows,
                                  const char *name)
{
    const convop_conv_problem *p = &plan->given;
    const char *names[32];
    size_t n = 0;
    for (size_t i = 0; i < rows.count; i++) {
        const convop_conv_impl *row = rows.at[i];
        if (n < 32) names[n++] = row->name;
        char why[CONVOP_WHY_SIZE];
        if (strcmp(row->name, name) == 0 && refuses(plan, row, why))
            return convop_fail(
                CONVOP_E_UNSUPPORTED,
                "Convolution: implementation %s, which the setting impl asks for, does "
                "not run this %s: %s",
                name, cvp_conv_direction_name(p->direction), why);
    }
    const char *near = cvp_nearest(name, names, n);
    return convop_fail(CONVOP_E_INVALID,
                       "Convolution: the setting impl asks for %s, which %s does not have%s%s",
                       name, cvp_conv_direction_name(p->direction), near ? "; the nearest is " : "",
                       near ? near : "");
}

convop_status cvp_conv_fail_to_find(const struct conv_plan *plan, const char *name)
{
    const convop_conv_problem *p = &plan->given;
    const struct conv_row_list rows = cvp_conv_rows_for(plan->rows, p);
    if (name[0]) return fail_by_name(plan, rows, name);
    char problem[256], reasons[512];
    struct cvp_text sizes = cvp_text_in(problem, sizeof problem);
    cvp_conv_problem_put_sizes(&sizes, p);
    struct cvp_text t = cvp_text_in(reasons, sizeof reasons);
    for (size_t i = 0; i < rows.count; i++) {
        char why[CONVOP_WHY_SIZE];
        if (refuses(plan, rows.at[i], why)) cvp_text_add(&t, "; %s: %s", rows.at[i]->name, why);
    }
    return convop_fail(CONVOP_E_UNSUPPORTED, "Convolution: no implementation runs %s of %s%s",
                       cvp_conv_direction_name(p->direction), problem, reasons);
}
