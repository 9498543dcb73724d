/* JSON strings and numbers (RFC 8259). The program stays in the C locale, so printf's decimal sign
 * is a point. */
#include "tools/json.h"

#include <math.h>
#include <stdio.h>

/* Length of the UTF-8 sequence at s, 0 if it is none (RFC 3629: no overlong forms, no surrogates,
 * nothing above U+10FFFF). */
static int utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : s[0] >= 0xe0 && s[0] <= 0xef ? 3 : 0;
    if (s[0] >= 0xf0 && s[0] <= 0xf4) n = 4;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return n;
}

void json_string(const char *text)
{
    if (!text) {
        fputs("null", stdout);
        return;
    }
    putchar('"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0) {
            fputs("\\ufffd", stdout);
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            printf("\\%c", *s);
        } else if (*s == '\n') {
            fputs("\\n", stdout);
        } else if (*s < 0x20 || *s == 0x7f) {
            printf("\\u%04x", *s);
        } else {
            fwrite(s, 1, (size_t)n, stdout);
        }
        s += n;
    }
    putchar('"');
}

void json_key(const char *key, int first)
{
    if (!first) fputs(", ", stdout);
    json_string(key);
    fputs(": ", stdout);
}

void json_number(double value)
{
    if (isfinite(value))
        printf("%.17g", value);
    else
        fputs("null", stdout);
}
