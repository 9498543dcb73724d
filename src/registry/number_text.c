/* Doubles as text, whatever locale the host program has set: it may change setlocale() at any time,
 * and "0,5" must not become the meaning of a saved model. */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/registry/field.h"

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

/* Kept for the life of the process, as the C library's own is. */
static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int cvp_double_read(const char *text, const char **end, double *value)
{
    pthread_once(&locale_once, make_locale);
    if (!c_locale) return 0;
    char *stop;
    *value = strtod_l(text, &stop, c_locale);
    *end = stop;
    return 1;
}

size_t cvp_double_format(double value, char *text, size_t size)
{
    pthread_once(&locale_once, make_locale);
    /* Without memory for a locale the thread's own must do; reading would fail then anyway. */
    const locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    char digits[40];
    /* 17 significant digits always read back to the same double, 15 or 16 often do and read better.
     */
    for (int n = 15; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value) break;
    }
    const int length = snprintf(text, size, "%s", digits);
    if (before) uselocale(before);
    return (size_t)length;
}
