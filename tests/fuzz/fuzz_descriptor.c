/* Batch files of the command's problems, and so descriptors and options: whatever is read, there is
 * a list or a sentence with its place, and each problem is written and read back as the same. The
 * input is the file. No file within it is opened, and no regular expression compiled: glibc's
 * compiler may take any time. */
#include "fuzz.h"
#include "tools/problems/problems.h"
#include "tools/problems/query.h"

static void check_error(const struct problem_error *error)
{
    FUZZ_CHECK(error->text[0] != '\0');
    FUZZ_CHECK(strlen(error->text) < sizeof error->text);
    FUZZ_CHECK(strchr(error->text, '\n') == NULL || !error->file);
    FUZZ_CHECK(!error->file || error->line >= 1);
}

static void check_axis(const struct axis *a, const struct axis *b)
{
    FUZZ_CHECK(a->i >= 1 && a->o >= 1 && a->k >= 1 && a->s >= 1 && a->p >= 0 && a->pe >= 0);
    FUZZ_CHECK((a->i + a->p + a->pe - (a->k - 1) * (a->d + 1) - 1) / a->s + 1 == a->o);
    FUZZ_CHECK(a->i == b->i && a->o == b->o && a->k == b->k && a->s == b->s && a->p == b->p &&
               a->pe == b->pe && a->d == b->d);
}

static void check_problem(const struct problem *p)
{
    const struct descriptor *d = &p->descriptor;
    struct descriptor again;
    struct descriptor_error error;
    size_t size = (size_t)d->name_length + 512;
    char *text = malloc(size);
    if (text == NULL) abort();
    descriptor_format(d, text, size);
    FUZZ_CHECK(strlen(text) + 1 < size);
    FUZZ_CHECK(descriptor_parse(text, &again, &error));
    FUZZ_CHECK(d->mb == again.mb && d->g == again.g && d->ic == again.ic && d->oc == again.oc);
    FUZZ_CHECK(d->ndim == again.ndim && d->name_length == again.name_length);
    for (int i = 0; i < 3; i++) check_axis(&d->axis[i], &again.axis[i]);
    free(text);

    const struct settings *s = &p->settings;
    FUZZ_CHECK(s->directions.count >= 1 && s->directions.count <= NUM_DIRECTIONS);
    FUZZ_CHECK(s->lacks || (s->types.count >= 1 && s->tags.count >= 1));
    for (int t = 0; t < s->tags.count && !s->lacks; t++) {
        struct query q;
        query_make(d, &s->post_ops, (enum direction)s->directions.at[0], (enum type)s->types.at[0],
                   (enum tag)s->tags.at[t], &q);
        FUZZ_CHECK(q.src.ndim == d->ndim + 2 && q.params.kernel.len == d->ndim);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || memmem(data, size, "match", 5) != NULL) return 0;
    struct problem_list list;
    struct problem_error error;
    problems_init(&list);
    list.takes_run = data[0] & 1;
    list.depth = PROBLEMS_MAX_DEPTH;
    uint8_t *copy = malloc(size);
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    FILE *file = fmemopen(copy, size, "r");
    if (file == NULL) abort();
    memset(&error, 0x5c, sizeof error);
    if (problems_read(&list, file, "fuzz", &error) && problems_finish(&list, &error))
        for (size_t i = 0; i < list.count; i++) check_problem(&list.at[i]);
    else
        check_error(&error);
    fclose(file);
    free(copy);
    problems_free(&list);
    return 0;
}
