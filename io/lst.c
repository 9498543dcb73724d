/* Reading and writing image lists. */
#include "io/lst.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "io/output.h"

/* The thread's locale while numbers are converted. */
static locale_t enter_c(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c ? uselocale(*c) : (locale_t)0;
}

static void leave_c(locale_t c, locale_t before)
{
    if (!c) return;
    uselocale(before);
    freelocale(c);
}

/* Lines and tabs bound the numbers of entries and labels, so one allocation each does. */
static convop_status reserve(struct cvp_io_lst *list)
{
    size_t lines = 1, tabs = 1;
    for (size_t i = 0; i < list->text.size; i++) {
        lines += list->text.data[i] == '\n';
        tabs += list->text.data[i] == '\t';
    }
    list->entries = calloc(lines, sizeof list->entries[0]);
    list->labels = calloc(tabs, sizeof list->labels[0]);
    if (list->entries && list->labels) return CONVOP_OK;
    return convop_fail(CONVOP_E_NO_MEMORY, "%s: no memory for a list of %zu lines", list->text.path,
                       lines);
}

static convop_status parse(const struct cvp_io_text *text, char *rest, struct cvp_io_lst_entry *e,
                           double *labels)
{
    const char *index = cvp_io_text_field(&rest), *field = cvp_io_text_field(&rest), *next;
    if (!index || !field || !rest)
        return cvp_io_text_fail(
            text, "a list line is an index, labels and a path, with tabs between them");
    if (!cvp_io_text_u64(index, UINT64_MAX, &e->index))
        return cvp_io_text_fail(text, "index \"%.64s\" is no number in [0, 2^64)", index);
    e->labels = labels;
    e->line = text->line;
    /* The last field is the path; the rest before it are labels. */
    while ((next = cvp_io_text_field(&rest)) != NULL) {
        char *end;
        double label = strtod(field, &end);
        if (end == field || *end)
            return cvp_io_text_fail(text, "label \"%.64s\" is no number", field);
        labels[e->num_labels++] = label;
        field = next;
    }
    if (!*field) return cvp_io_text_fail(text, "the path is empty");
    e->path = field;
    return CONVOP_OK;
}

convop_status cvp_io_lst_load(const char *path, struct cvp_io_lst *list)
{
    struct cvp_io_lst loaded = {0};
    convop_status status = cvp_io_text_load(path, &loaded.text);
    if (status != CONVOP_OK) return status;
    status = reserve(&loaded);
    locale_t c, before = enter_c(&c);
    char *line;
    size_t labels = 0;
    while (status == CONVOP_OK && (line = cvp_io_text_next(&loaded.text)) != NULL) {
        struct cvp_io_lst_entry *e = &loaded.entries[loaded.count];
        status = parse(&loaded.text, line, e, loaded.labels + labels);
        labels += e->num_labels;
        loaded.count++;
    }
    leave_c(c, before);
    if (status == CONVOP_OK)
        *list = loaded;
    else
        cvp_io_lst_free(&loaded);
    return status;
}

void cvp_io_lst_free(struct cvp_io_lst *list)
{
    free(list->entries);
    free(list->labels);
    cvp_io_text_free(&list->text);
    *list = (struct cvp_io_lst){0};
}

static convop_status write_entry(struct cvp_io_output *o, const struct cvp_io_lst_entry *e)
{
    char number[352]; /* "%f" of DBL_MAX has 316 characters */
    if (strpbrk(e->path, "\t\r\n"))
        return convop_fail(CONVOP_E_INVALID,
                           "%s: the path \"%s\" has a tab or a line break, which a list cannot "
                           "hold",
                           cvp_io_output_path(o), e->path);
    int n = snprintf(number, sizeof number, "%" PRIu64 "\t", e->index);
    convop_status status = cvp_io_output_write(o, number, (size_t)n);
    for (size_t i = 0; i < e->num_labels && status == CONVOP_OK; i++) {
        n = snprintf(number, sizeof number, "%f\t", e->labels[i]);
        status = cvp_io_output_write(o, number, (size_t)n);
    }
    if (status == CONVOP_OK) status = cvp_io_output_write(o, e->path, strlen(e->path));
    if (status == CONVOP_OK) status = cvp_io_output_write(o, "\n", 1);
    return status;
}

convop_status cvp_io_lst_write(const char *path, const struct cvp_io_lst_entry *entries,
                               size_t count)
{
    struct cvp_io_output *o = NULL;
    convop_status status = cvp_io_output_create(path, &o);
    if (status != CONVOP_OK) return status;
    locale_t c, before = enter_c(&c);
    for (size_t i = 0; i < count && status == CONVOP_OK; i++) status = write_entry(o, &entries[i]);
    leave_c(c, before);
    if (status == CONVOP_OK) return cvp_io_output_commit(&o);
    cvp_io_output_discard(&o);
    return status;
}
