/* Reads descriptors: keys first, then what follows from them. */
#include "tools/problems/descriptor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Products of two such numbers cannot overflow, nor can a sum of a few of them. */
#define NUMBER_MAX INT32_MAX

enum key { KEY_I, KEY_O, KEY_K, KEY_S, KEY_P, KEY_D, AXIS_KEYS };
enum { KEY_G = 3 * AXIS_KEYS, KEY_MB, KEY_IC, KEY_OC, NUM_KEYS };

static const char axis_letters[] = "iokspd"; /* in the order of enum key */
static const char axes[] = "dhw";

struct number {
    int given;
    size_t at;
    int64_t value;
};

struct reader {
    const char *text;
    struct number key[NUM_KEYS];
    struct descriptor_error *error;
};

static int refuse(struct reader *r, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct reader *r, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error->text, sizeof r->error->text, format, args);
    va_end(args);
    r->error->at = at;
    return 0;
}

/* The key at s and its length, or -1. */
static int find_key(const char *s, size_t *length)
{
    *length = 2;
    if (strncmp(s, "mb", 2) == 0) return KEY_MB;
    if (strncmp(s, "ic", 2) == 0) return KEY_IC;
    if (strncmp(s, "oc", 2) == 0) return KEY_OC;
    const char *letter = s[0] ? strchr(axis_letters, s[0]) : NULL;
    const char *axis = letter && s[1] ? strchr(axes, s[1]) : NULL;
    if (axis) return (int)(axis - axes) * AXIS_KEYS + (int)(letter - axis_letters);
    *length = 1;
    return s[0] == 'g' ? (int)KEY_G : -1;
}

static int read_number(struct reader *r, size_t *at, int64_t *value)
{
    size_t i = *at;
    int64_t v = 0;
    for (; r->text[i] >= '0' && r->text[i] <= '9'; i++) {
        v = v * 10 + (r->text[i] - '0');
        if (v > NUMBER_MAX) return refuse(r, *at, "a number above %d", NUMBER_MAX);
    }
    if (i == *at) return refuse(r, *at, "a number is missing");
    *at = i;
    *value = v;
    return 1;
}

static int read_keys(struct reader *r, struct descriptor *d)
{
    size_t at = 0, length;
    while (r->text[at] && r->text[at] != 'n') {
        if (r->text[at] == '_') {
            at++;
            continue;
        }
        int key = find_key(r->text + at, &length);
        if (key < 0) return refuse(r, at, "unknown key");
        struct number *known = &r->key[key], n = {.given = 1, .at = at};
        at += length;
        if (!read_number(r, &at, &n.value)) return 0;
        if (known->given && known->value != n.value)
            return refuse(r, n.at, "%.*s is given twice", (int)length, r->text + n.at);
        *known = n;
    }
    d->name = "";
    d->name_length = 0;
    if (!r->text[at]) return 1;
    d->name = r->text + at + 1;
    d->name_length = (int)strlen(d->name);
    if (d->name_length >= 2 && d->name[0] == '"' && d->name[d->name_length - 1] == '"') {
        d->name++;
        d->name_length -= 2;
    }
    return 1;
}

/* As benchdnn: sizes of 0 and the neutral values say nothing. */
static int says_something(const struct number key[AXIS_KEYS])
{
    return key[KEY_I].value || key[KEY_O].value || key[KEY_K].value || key[KEY_D].value ||
           (key[KEY_S].given && key[KEY_S].value != 1) || key[KEY_P].value;
}

/* Takes what axis `to` lacks from the axis before it. */
static void inherit(struct number to[AXIS_KEYS], const struct number from[AXIS_KEYS])
{
    if (to[KEY_I].value && to[KEY_K].value) return;
    int own = says_something(to);
    for (int k = 0; k < AXIS_KEYS; k++) {
        int lacks = k == KEY_I || k == KEY_K || k == KEY_O ? !to[k].value : !to[k].given;
        /* An output of the other axis belongs to its sizes, not to ours. */
        if (lacks && !(k == KEY_O && own)) to[k] = from[k];
    }
}

static int complete_axis(struct reader *r, const struct number key[AXIS_KEYS], char letter,
                         struct axis *a)
{
    size_t end = strcspn(r->text, "n");
    a->i = key[KEY_I].value;
    a->k = key[KEY_K].value;
    a->s = key[KEY_S].given ? key[KEY_S].value : 1;
    a->d = key[KEY_D].value;
    a->o = key[KEY_O].value;
    if (!a->i) return refuse(r, end, "i%c is missing", letter);
    if (!a->k) return refuse(r, end, "k%c is missing", letter);
    if (!a->s) return refuse(r, key[KEY_S].at, "a stride is at least 1");

    int64_t window = (a->k - 1) * (a->d + 1) + 1;
    int64_t need = (a->o - 1) * a->s + window - a->i; /* padding that a given output needs */
    if (key[KEY_P].given)
        a->p = key[KEY_P].value;
    else
        a->p = a->o && need > 0 ? need / 2 : 0;
    if (a->p > NUMBER_MAX)
        return refuse(r, key[KEY_O].at, "o%c%lld needs a padding of %lld, above %d", letter,
                      (long long)a->o, (long long)a->p, NUMBER_MAX);

    int64_t room = a->i + 2 * a->p - window;
    int64_t symmetric = room < 0 ? 0 : room / a->s + 1;
    a->pe = a->p;
    if (!a->o) a->o = symmetric;
    if (!a->o)
        return refuse(r, key[KEY_K].at,
                      "the kernel spans %lld elements, the padded input has %lld in axis %c",
                      (long long)window, (long long)(a->i + 2 * a->p), letter);
    if (a->o == symmetric) return 1;
    /* The last window may end before the input does. */
    a->pe = need > a->p ? need - a->p : 0;
    if ((a->i + a->p + a->pe - window) / a->s + 1 != a->o)
        return refuse(r, key[KEY_O].at,
                      "o%c%lld leaves input unused: without any padding at the "
                      "end it would be %lld",
                      letter, (long long)a->o, (long long)((a->i + a->p - window) / a->s + 1));
    return 1;
}

static int read_channels(struct reader *r, struct descriptor *d)
{
    size_t end = strcspn(r->text, "n");
    const struct number *g = &r->key[KEY_G], *ic = &r->key[KEY_IC], *oc = &r->key[KEY_OC];
    d->g = g->given ? g->value : 1;
    d->mb = r->key[KEY_MB].given ? r->key[KEY_MB].value : 2;
    d->ic = ic->value;
    d->oc = oc->value;
    if (!d->ic) return refuse(r, ic->given ? ic->at : end, "ic is missing");
    if (!d->oc) return refuse(r, oc->given ? oc->at : end, "oc is missing");
    if (!d->g) return refuse(r, g->at, "g is at least 1");
    if (d->ic % d->g) return refuse(r, g->at, "g does not divide ic");
    if (d->oc % d->g) return refuse(r, g->at, "g does not divide oc");
    return 1;
}

int descriptor_parse(const char *text, struct descriptor *d, struct descriptor_error *error)
{
    struct reader r = {.text = text, .error = error};
    if (!read_keys(&r, d) || !read_channels(&r, d)) return 0;

    int first = 0;
    while (first < 3 && !says_something(r.key + first * AXIS_KEYS)) first++;
    if (first == 3)
        return refuse(&r, strcspn(text, "n"), "no axis is given: at least ih and kh, or iw and kw");
    d->ndim = 3 - first;
    for (int a = 0; a < 3; a++) {
        d->axis[a] = (struct axis){1, 1, 1, 1, 0, 0, 0};
        if (a < first) continue;
        if (a > first) inherit(r.key + a * AXIS_KEYS, r.key + (a - 1) * AXIS_KEYS);
        if (!complete_axis(&r, r.key + a * AXIS_KEYS, axes[a], d->axis + a)) return 0;
    }
    return 1;
}

static int same_axis(const struct axis *a, const struct axis *b)
{
    return a->i == b->i && a->o == b->o && a->k == b->k && a->s == b->s && a->p == b->p &&
           a->pe == b->pe && a->d == b->d;
}

/* The value of a key, and whether the reader would find it without being told. */
static int64_t axis_value(const struct axis *a, enum key key, int *implied)
{
    int output_given = a->pe != a->p;
    switch (key) {
    case KEY_I: return *implied = 0, a->i;
    case KEY_O: return *implied = !output_given, a->o;
    case KEY_K: return *implied = 0, a->k;
    case KEY_S: return *implied = a->s == 1, a->s;
    case KEY_P: return *implied = a->p == 0 && !output_given, a->p;
    default: return *implied = a->d == 0, a->d;
    }
}

void descriptor_format(const struct descriptor *d, char *text, size_t size)
{
    size_t n = 0;
#define ADD(...)                                                                                   \
    do {                                                                                           \
        if (n < size) n += (size_t)snprintf(text + n, size - n, __VA_ARGS__);                      \
    } while (0)
    if (size) text[0] = 0;
    if (d->g != 1) ADD("g%lld", (long long)d->g);
    ADD("mb%lldic%lld", (long long)d->mb, (long long)d->ic);
    for (int key = KEY_I; key < AXIS_KEYS; key++) {
        if (key == KEY_O) ADD("oc%lld", (long long)d->oc);
        for (int i = 3 - d->ndim; i < 3; i++) {
            int implied;
            int64_t value = axis_value(&d->axis[i], (enum key)key, &implied);
            if (i > 3 - d->ndim && same_axis(&d->axis[i], &d->axis[i - 1])) continue;
            if (!implied) ADD("%c%c%lld", axis_letters[key], axes[i], (long long)value);
        }
    }
    if (d->name_length) ADD("n\"%.*s\"", d->name_length, d->name);
#undef ADD
}
