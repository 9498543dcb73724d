/* What convop accepts of other programs' tensors, kind by kind, as checks and as the table of
 * docs/dlpack.md.
 *
 *     test_dlpack_matrix            runs the checks; one compares the table with the page
 *     test_dlpack_matrix --table    prints the table
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/dlpack/trial.h"

#define BEGIN "<!-- made by test_dlpack_matrix --table -->\n"
#define END   "<!-- end -->\n"

/* What is known of one kind. */
struct row {
    const struct kind *kind;
    struct trial old, now;
};

static struct row row_of(const struct kind *k)
{
    struct row row = {.kind = k};
    if (!k->versioned) row.old = trial_run(k, 0);
    row.now = trial_run(k, 1);
    return row;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void print_name(FILE *out, const struct row *row)
{
    fputs(row->kind->name, out);
}

static void print_answers(FILE *out, const struct trial *trial)
{
    if (trial->input == KIND_REFUSED)
        fputs("refused", out);
    else if (trial->input == KIND_CARRIED)
        fputs("carried", out);
    else
        fputs(trial->output == KIND_TAKEN ? "in, out" : "in", out);
}

static void print_old(FILE *out, const struct row *row)
{
    if (row->kind->versioned)
        fputs("-", out);
    else
        print_answers(out, &row->old);
}

static void print_now(FILE *out, const struct row *row)
{
    print_answers(out, &row->now);
}

/* Without the name of our function, which differs between the structs, and without addresses, which
 * differ between runs. */
static void print_sentence(FILE *out, const struct row *row)
{
    const char *s = row->now.says, *own = strncmp(s, "convop_", 7) == 0 ? strstr(s, ": ") : NULL;
    if (own != NULL) s = own + 2;
    while (*s != '\0') {
        if (strncmp(s, "0x", 2) == 0) {
            fputs("0x...", out);
            s += 2 + strspn(s + 2, "0123456789abcdef");
        } else {
            fputc(*s++, out);
        }
    }
}

/* A column each; what another library answers is one more. */
static const struct {
    const char *heading;
    void (*print)(FILE *out, const struct row *row);
} columns[] = {
    {"tensor", print_name},
    {"old struct", print_old},
    {"DLPack 1.x", print_now},
    {"convop says", print_sentence},
};
enum { NUM_COLUMNS = sizeof columns / sizeof columns[0] };

static void print_table(FILE *out)
{
    for (int c = 0; c < NUM_COLUMNS; c++) fprintf(out, "| %s ", columns[c].heading);
    fputs("|\n", out);
    for (int c = 0; c < NUM_COLUMNS; c++) fputs("| --- ", out);
    fputs("|\n", out);
    for (size_t i = 0; i < num_kinds; i++) {
        const struct row row = row_of(&kinds[i]);
        for (int c = 0; c < NUM_COLUMNS; c++) {
            fputs("| ", out);
            columns[c].print(out, &row);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
}

/* ---- the checks -------------------------------------------------------------------------------
 */

static void check_answers(const struct kind *k, const struct trial *trial)
{
    if (trial->input != k->input || trial->output != k->output)
        fail_msg("%s: answers %d and %d, want %d and %d: %s", k->name, trial->input, trial->output,
                 k->input, k->output, trial->says);
    if (k->says == NULL)
        assert_string_equal(trial->says, "");
    else if (strstr(trial->says, k->says) == NULL)
        fail_msg("%s: \"%s\" lacks \"%s\"", k->name, trial->says, k->says);
}

static void every_kind_is_answered_as_listed(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_kinds; i++) {
        const struct row row = row_of(&kinds[i]);
        if (!kinds[i].versioned) check_answers(&kinds[i], &row.old);
        check_answers(&kinds[i], &row.now);
    }
}

static void no_memory_for_any_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < num_kinds; i++) {
        if (kinds[i].input == KIND_REFUSED) continue;
        if (!kinds[i].versioned) trial_without_memory(&kinds[i], 0);
        trial_without_memory(&kinds[i], 1);
    }
}

static void page_shows_this_table(void **state)
{
    (void)state;
    static char page[1 << 18];
    FILE *in = fopen(TEST_PAGE, "r");
    if (in == NULL) fail_msg("%s cannot be read", TEST_PAGE);
    page[fread(page, 1, sizeof(page) - 1, in)] = '\0';
    fclose(in);
    char *table = NULL;
    size_t size = 0, same = 0;
    FILE *out = open_memstream(&table, &size);
    assert_non_null(out);
    print_table(out);
    fclose(out);
    const char *begin = strstr(page, BEGIN);
    if (begin == NULL) fail_msg("%s has no table", TEST_PAGE);
    begin += strlen(BEGIN);
    while (same < size && begin[same] == table[same]) same++;
    if (same < size || strncmp(begin + same, END, strlen(END)) != 0)
        fail_msg("%s differs from what \"test_dlpack_matrix --table\" prints, at\n%.200s",
                 TEST_PAGE, begin + same);
    free(table);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--table") == 0) {
        print_table(stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_answered_as_listed),
        cmocka_unit_test(no_memory_for_any_kind),
        cmocka_unit_test(page_shows_this_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
