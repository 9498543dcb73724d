/* Operators as text for a person: the table, and the page on one of them. */
#include <stdio.h>
#include <string.h>

#include "tools/ops.h"

#define PAGE_WIDTH 80

/* Writes prose filled to the width of the page. Lines that begin with a blank (formulas) and empty
 * lines stay as they are. */
static void print_filled(const char *text, int indent)
{
    int column = 0;
    while (*text) {
        size_t line = strcspn(text, "\n");
        if (line == 0 || *text == ' ') {
            if (column) putchar('\n');
            printf("%*s%.*s\n", line ? indent : 0, "", (int)line, text);
            column = 0;
            text += line;
        }
        while (line && *text && *text != '\n') {
            size_t word = strcspn(text, " \n");
            if (column && column + 1 + (int)word > PAGE_WIDTH) {
                putchar('\n');
                column = 0;
            }
            column += column ? printf(" ") : printf("%*s", indent, "");
            column += printf("%.*s", (int)word, text);
            text += word;
            text += strspn(text, " ");
        }
        if (*text == '\n') text++;
    }
    if (column) putchar('\n');
}

static size_t first_sentence(const char *doc)
{
    for (size_t i = 0; doc[i]; i++) {
        if (doc[i] == '\n') return i;
        if (doc[i] == '.' && (doc[i + 1] == ' ' || doc[i + 1] == '\n' || !doc[i + 1])) return i + 1;
    }
    return strlen(doc);
}

/* "src, weights, bias" */
static void join_args(char *text, size_t size, const convop_arg *args, int n)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", args[i].name);
}

void ops_table(const convop_op_listing *listing)
{
    char text[256];
    int width[3] = {(int)strlen("NAME"), (int)strlen("INPUTS"), (int)strlen("OUTPUTS")};
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            printf("%-*s  %-*s  %-*s  WHAT\n", width[0], "NAME", width[1], "INPUTS", width[2],
                   "OUTPUTS");
        for (size_t i = 0; i < convop_op_listing_count(listing); i++) {
            const convop_op *op = convop_op_listing_at(listing, i);
            const char *doc = op->doc ? op->doc : "";
            for (int column = 0; column < 3; column++) {
                if (column == 0) snprintf(text, sizeof text, "%s", op->name);
                if (column == 1) join_args(text, sizeof text, op->inputs, op->max_inputs);
                if (column == 2) join_args(text, sizeof text, op->outputs, op->max_outputs);
                if (pass) printf("%-*s  ", width[column], text);
                if ((int)strlen(text) > width[column]) width[column] = (int)strlen(text);
            }
            if (pass) printf("%.*s\n", (int)first_sentence(doc), doc);
        }
    }
}

static void print_args(const char *title, const convop_arg *args, int n)
{
    if (n == 0) return;
    printf("\n%s\n", title);
    for (int i = 0; i < n; i++) {
        printf("    %s\n", args[i].name);
        if (args[i].doc) print_filled(args[i].doc, 8);
    }
}

static void print_range(const convop_field *f)
{
    int low = ops_has_min(f), high = ops_has_max(f);
    const char *each = f->kind == CONVOP_FIELD_TUPLE ? ", each " : ", ";
    if (low && high)
        printf("%s%.15g to %.15g", each, f->min, f->max);
    else if (low)
        printf("%s%.15g or more", each, f->min);
    else if (high)
        printf("%s%.15g or less", each, f->max);
}

static void print_field(const convop_field *f)
{
    static const char *const words[] = {
        [CONVOP_FIELD_BOOL] = "true or false",
        [CONVOP_FIELD_INT] = "integer",
        [CONVOP_FIELD_FLOAT] = "number",
        [CONVOP_FIELD_ENUM] = "one of",
        [CONVOP_FIELD_TUPLE] = "tuple of integers",
        [CONVOP_FIELD_BYTES] = "size in whole MiB",
    };
    size_t kind = (size_t)f->kind;
    printf("    %s: %s", f->name, kind > 0 && kind <= 6 ? words[kind] : ops_kind_name(f->kind));
    for (int i = 0; f->kind == CONVOP_FIELD_ENUM && f->values && f->values[i].name; i++)
        printf("%s %s", i ? "," : "", f->values[i].name);
    print_range(f);
    if (f->default_text)
        printf("; default %s\n", f->default_text[0] ? f->default_text : "\"\"");
    else
        puts("; required");
    if (f->doc) print_filled(f->doc, 8);
}

void ops_page(const convop_op *op)
{
    const char *doc = op->doc ? op->doc : "";
    size_t first = first_sentence(doc);
    char name[1024];
    snprintf(name, sizeof name, "%s - %.*s", op->name, (int)first, doc);
    puts("NAME");
    print_filled(name, 4);
    doc += first + strspn(doc + first, " \n");
    if (*doc) {
        puts("\nDESCRIPTION");
        print_filled(doc, 4);
    }
    print_args("INPUTS", op->inputs, op->max_inputs);
    print_args("OUTPUTS", op->outputs, op->max_outputs);
    if (op->num_fields) puts("\nPARAMETERS");
    for (size_t i = 0; i < op->num_fields; i++) {
        if (i) putchar('\n');
        print_field(&op->fields[i]);
    }
}
