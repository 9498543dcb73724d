/* Comparisons. */
#include "tests/cases/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

int row_transforms(const char *row)
{
    return row != NULL && (strstr(row, "wino") != NULL || strstr(row, "fft") != NULL);
}

static int near(double got, double want, double room)
{
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= room;
}

static int has_nonfinite(const struct tensor *t)
{
    for (int64_t i = 0; i < t->count; i++)
        if (!isfinite(tensor_get(t, i))) return 1;
    return 0;
}

static void compare_output(const struct conv *v, int output, const char *row)
{
    const struct tensor *t = &v->out[output];
    int transforms = row_transforms(row);
    int spreads = transforms && (has_nonfinite(&v->in[DATA]) || has_nonfinite(&v->in[WEIGHT]));
    for (int64_t i = 0; i < t->count; i++) {
        double got = tensor_get(t, i), want = v->want[output][i];
        double room = v->c->exact ? 0 : v->c->atol + v->c->rtol * fabs(want);
        if (transforms) room += 1e-4 * v->magnitude[output][i];
        if (near(got, want, room) || (spreads && isnan(got))) continue;
        fail_msg("row %s: %s[%lld] is %.9g, must be %.9g", row ? row : "as chosen",
                 conv_output_names[output], (long long)i, got, want);
    }
    if (!tensor_gaps_same(t))
        fail_msg("row %s: %s was written beside its elements", row ? row : "as chosen",
                 conv_output_names[output]);
}

void compare_outputs(const struct conv *v, const char *row)
{
    for (int i = 0; i < OUTPUTS; i++) {
        if (v->req[i] != CONVOP_REQ_NULL)
            compare_output(v, i, row);
        else if (v->out[i].memory.pages != NULL && !tensor_same(&v->out[i]))
            fail_msg("%s was written, it was not asked for", conv_output_names[i]);
    }
    for (int i = 0; i < INPUTS; i++)
        if (v->in[i].memory.pages != NULL && !tensor_same(&v->in[i]))
            fail_msg("row %s: input %d was changed", row ? row : "as chosen", i);
}

void compare_nothing_written(const struct conv *v, const char *what)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (v->out[i].memory.pages != NULL && !tensor_same(&v->out[i]))
            fail_msg("%s: %s was written", what, conv_output_names[i]);
    for (int i = 0; i < INPUTS; i++)
        if (v->in[i].memory.pages != NULL && !tensor_same(&v->in[i]))
            fail_msg("%s: input %d was written", what, i);
}

/* ---- the case's figures ---------------------------------------------------------------------- */

struct figures {
    double sum, wsum13, min, max, magnitude;
};

static struct figures figures_of(const double *x, int64_t n)
{
    struct figures f = {0, 0, INFINITY, -INFINITY, 1e-30};
    for (int64_t i = 0; i < n; i++) {
        f.sum += x[i];
        f.wsum13 += x[i] * (double)(i % 13 + 1);
        f.magnitude += 13 * fabs(x[i]);
        if (x[i] < f.min) f.min = x[i];
        if (x[i] > f.max) f.max = x[i];
    }
    return f;
}

static void figure(const char *output, const char *name, const json_t *expected, double got,
                   double room)
{
    const json_t *want = json_object_get(expected, name);
    if (want != NULL && !near(got, json_number(want), room))
        fail_msg("oracle: %s of %s is %.17g, the case says %.17g", name, output, got,
                 json_number(want));
}

/* Some values from `from` on. */
static void some_values(const char *output, const char *name, const json_t *expected,
                        const double *x, int64_t from, double room)
{
    size_t k;
    json_t *want;
    json_array_foreach(json_object_get(expected, name), k, want)
    {
        if (!near(x[from + (int64_t)k], json_number(want), room))
            fail_msg("oracle: %s[%zu] of %s is %.17g, the case says %.17g", name, k, output,
                     x[from + (int64_t)k], json_number(want));
    }
}

void compare_figures(const struct conv *v)
{
    const json_t *all = json_object_get(v->c->json, "expected");
    for (int i = 0; i < OUTPUTS; i++) {
        const char *name = conv_output_names[i];
        const json_t *expected = json_object_get(all, name);
        if (expected == NULL) continue;
        int64_t shape[CONVOP_MAX_DIMS], n = v->out[i].count;
        int ndim = json_ints(json_object_get(expected, "shape"), shape, CONVOP_MAX_DIMS);
        if (ndim != v->out[i].dl.ndim ||
            memcmp(shape, v->out[i].shape, sizeof(int64_t) * (size_t)ndim) != 0)
            fail_msg("%s: the case expects another shape", name);
        const double *x = v->want[i];
        struct figures f = figures_of(x, n);
        /* The figures were computed before rounding to the dtype. */
        double room = v->c->exact ? 0 : v->c->rtol, one = room + room * fmax(-f.min, f.max);
        figure(name, "sum", expected, f.sum, room * f.magnitude);
        figure(name, "wsum13", expected, f.wsum13, room * f.magnitude);
        figure(name, "min", expected, f.min, one);
        figure(name, "max", expected, f.max, one);
        some_values(name, "first4", expected, x, 0, one);
        some_values(name, "last4", expected, x, n - 4, one);
        const json_t *values = json_object_get(expected, "values");
        if (values != NULL && (int64_t)json_array_size(values) != n)
            fail_msg("%s: the case has %zu values", name, json_array_size(values));
        some_values(name, "values", expected, x, 0, isfinite(one) ? one : room);
    }
}

void compare_mention(const struct test_case *c, const char *text)
{
    const json_t *error = json_object_get(c->params, "error");
    size_t i;
    json_t *word;
    json_array_foreach(json_object_get(error, "mention_any"), i, word)
    {
        if (strcasestr(text, json_string_value(word)) != NULL) return;
    }
    fail_msg("none of the case's words is in: %s", text);
}
