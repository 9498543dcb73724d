/* --sweep KEY=VALUES: each problem with each value of the key. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

#define MAX_VALUES 256

enum key { STRIDE, KERNEL, DILATE, PAD, INPUT, MB, IC, OC, GROUPS, THREADS, NUM_KEYS };

static const char *const key_names[NUM_KEYS] = {"stride", "kernel", "dilate", "pad", "input",
                                                "mb",     "ic",     "oc",     "g",   "threads"};

struct sweep {
    enum key key;
    int64_t values[MAX_VALUES];
    int count;
};

/* ---- the text ------------------------------------------------------------------------------ */

static int refuse(struct problem_error *error, const char *text, const char *why)
{
    *error = (struct problem_error){.at = 0};
    snprintf(error->text, sizeof error->text,
             "--sweep=%s: %s; allowed are KEY=A..B, KEY=A..B:STEP and KEY=A,B,C with a key among "
             "stride, kernel, dilate, pad, input, mb, ic, oc, g, threads",
             text, why);
    return 0;
}

static int read_value(const char **at, int64_t *value)
{
    char *end;
    if (**at < '0' || **at > '9') return 0;
    *value = strtoll(*at, &end, 10);
    *at = end;
    return *value <= INT32_MAX;
}

/* A..B or A..B:STEP, with A read and `at` on the dots. */
static int read_range(const char **at, struct sweep *s)
{
    int64_t first = s->values[0], last, step = 1;
    *at += 2;
    if (!read_value(at, &last)) return 0;
    if (**at == ':') {
        ++*at;
        if (!read_value(at, &step) || step < 1) return 0;
    }
    if (last < first || (last - first) / step >= MAX_VALUES) return 0;
    for (s->count = 0; first + s->count * step <= last; s->count++)
        s->values[s->count] = first + s->count * step;
    return 1;
}

static int read_values(const char *at, struct sweep *s)
{
    if (!read_value(&at, &s->values[0])) return 0;
    s->count = 1;
    if (strncmp(at, "..", 2) == 0) return read_range(&at, s) && !*at;
    while (*at == ',' && s->count < MAX_VALUES) {
        at++;
        if (!read_value(&at, &s->values[s->count++])) return 0;
    }
    return !*at;
}

static int read_sweep(const char *text, struct sweep *s, struct problem_error *error)
{
    size_t length = strcspn(text, "=");
    for (int k = 0; k < NUM_KEYS; k++) {
        if (strlen(key_names[k]) != length || memcmp(key_names[k], text, length) != 0) continue;
        s->key = (enum key)k;
        if (text[length] && read_values(text + length + 1, s)) return 1;
        return refuse(error, text, "the values are no range of up to 256 numbers");
    }
    return refuse(error, text, "there is no such key");
}

/* ---- the problems -------------------------------------------------------------------------- */

/* The padding stays, the output follows. */
static void set_axis(struct axis *a, enum key key, int64_t value)
{
    switch (key) {
    case STRIDE: a->s = value; break;
    case KERNEL: a->k = value; break;
    case DILATE: a->d = value; break;
    case PAD: a->p = a->pe = value; break;
    default: a->i = value;
    }
    int64_t room = a->i + a->p + a->pe - (a->k - 1) * (a->d + 1) - 1;
    if (a->s > 0) a->o = room < 0 ? 0 : room / a->s + 1;
}

static void set_value(struct problem *p, enum key key, int64_t value)
{
    struct descriptor *d = &p->descriptor;
    switch (key) {
    case MB: d->mb = value; break;
    case IC: d->ic = value; break;
    case OC: d->oc = value; break;
    case GROUPS: d->g = value; break;
    case THREADS: p->settings.threads = value < 4096 ? (int)value : 4096; break;
    default:
        for (int i = 3 - d->ndim; i < 3; i++) set_axis(&d->axis[i], key, value);
    }
}

/* The problem with a new value: written as a descriptor and read again, so that what the values
 * make of it is checked as if it had been given so. */
static int change(struct problem_list *list, struct problem *p, enum key key, int64_t value,
                  struct problem_error *error)
{
    char swept[256];
    set_value(p, key, value);
    snprintf(swept, sizeof swept, "%s%s%s=%lld", p->swept, p->swept[0] ? " " : "", key_names[key],
             (long long)value);
    p->swept = problems_keep(list, swept);
    if (p->swept) return problems_rewrite(list, p, error);
    *error = (struct problem_error){.text = "out of memory", .failed = 1};
    return 0;
}

int sweep_problems(struct problem_list *list, const char *text, struct problem_error *error)
{
    struct sweep s;
    if (!read_sweep(text, &s, error)) return 0;
    struct problem *made = calloc(list->count * (size_t)s.count + 1, sizeof *made);
    size_t count = 0;
    int good = made != NULL;
    if (!good) *error = (struct problem_error){.text = "out of memory", .failed = 1};
    for (size_t i = 0; good && i < list->count; i++)
        for (int v = 0; good && v < s.count; v++) {
            made[count] = list->at[i];
            good = change(list, &made[count++], s.key, s.values[v], error);
        }
    if (!good) {
        free(made);
        return 0;
    }
    free(list->at);
    list->at = made;
    list->count = count;
    return 1;
}
