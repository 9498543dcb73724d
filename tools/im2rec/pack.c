/* One list to one record file and its index. Threads make records, this one writes them in the
 * order of the list. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convop/registry.h"
#include "io/pipeline.h"
#include "io/record_writer.h"
#include "tools/cli.h"
#include "tools/im2rec/im2rec.h"
#include "tools/im2rec/make_record.h"

/* A record that waits to be written. */
struct made {
    struct cvp_io_record record;
    convop_status status;
    char why[600];
};

struct pack {
    const struct im2rec_options *options;
    struct cvp_io_lst list;
    struct made *made;              /* a slot of the pipeline */
    struct im2rec_scratch *scratch; /* a worker */
    int slots;
    struct cvp_io_record_writer *writer;
    uint64_t written, skipped;
};

/* So that an interrupted run leaves no temporary file behind. */
static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    interrupted = signal;
}

static void work(void *user, int worker, int slot, int64_t ticket)
{
    struct pack *p = user;
    struct made *m = &p->made[slot];
    m->status =
        im2rec_make_record(p->options, &p->list.entries[ticket], &p->scratch[worker], &m->record);
    if (m->status != CONVOP_OK) snprintf(m->why, sizeof m->why, "%s", convop_last_error());
}

static int fail(void)
{
    return cli_fail("im2rec: %s", convop_last_error());
}

static int compare(const void *a, const void *b)
{
    const struct cvp_io_lst_entry *x = *(const struct cvp_io_lst_entry *const *)a;
    const struct cvp_io_lst_entry *y = *(const struct cvp_io_lst_entry *const *)b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The index of the record file could not tell two of them apart. */
static int check_indices(const struct cvp_io_lst *list, const char *path)
{
    const struct cvp_io_lst_entry **sorted = malloc((list->count + 1) * sizeof *sorted);
    if (!sorted) return cli_fail("im2rec: no memory for a list of %zu images", list->count);
    for (size_t i = 0; i < list->count; i++) sorted[i] = &list->entries[i];
    qsort(sorted, list->count, sizeof *sorted, compare);
    int status = CLI_OK;
    for (size_t i = 1; i < list->count && status == CLI_OK; i++)
        if (sorted[i]->index == sorted[i - 1]->index)
            status = cli_fail("im2rec: %s: line %zu: index %llu is on line %zu already", path,
                              sorted[i]->line, (unsigned long long)sorted[i]->index,
                              sorted[i - 1]->line);
    free(sorted);
    return status;
}

/* What became of the record of one line. */
static int write_made(struct pack *p, const char *path, size_t number, const struct made *m)
{
    const struct cvp_io_lst_entry *e = &p->list.entries[number];
    if (m->status == CONVOP_OK) {
        if (cvp_io_record_write(p->writer, e->index, m->record.data, m->record.size) != CONVOP_OK)
            return fail();
        p->written++;
        return CLI_OK;
    }
    const int skip = p->options->skip_bad && m->status == CONVOP_E_INVALID;
    cli_fail("im2rec: %s%s: line %zu: %s", skip ? "skipped: " : "", path, e->line, m->why);
    p->skipped += skip;
    return skip ? CLI_OK : CLI_FAILURE;
}

static int run(struct pack *p, const char *path, const char *record_path)
{
    struct cvp_io_pipeline *pipeline = NULL;
    const int64_t count = (int64_t)p->list.count;
    if (cvp_io_pipeline_create(p->options->num_thread, p->slots, work, p, &pipeline) != CONVOP_OK)
        return fail();
    struct im2rec_progress progress = im2rec_progress_begin(record_path, p->list.count);
    cvp_io_pipeline_start(pipeline, count);
    int status = CLI_OK;
    for (int64_t i = 0; i < count && status == CLI_OK && !interrupted; i++) {
        const struct made *m = &p->made[cvp_io_pipeline_take(pipeline)];
        if (m->status != CONVOP_OK) im2rec_progress_end(&progress);
        status = write_made(p, path, (size_t)i, m);
        im2rec_progress_show(&progress, (uint64_t)i + 1);
    }
    cvp_io_pipeline_destroy(&pipeline);
    const double seconds = im2rec_progress_end(&progress);
    if (interrupted) status = cli_fail("im2rec: interrupted: %s stays as it was", record_path);
    if (status != CLI_OK) return status;
    const unsigned long long bytes = cvp_io_record_written(p->writer);
    if (cvp_io_record_commit(&p->writer) != CONVOP_OK) return fail();
    fprintf(stderr,
            "%s: %llu records, %llu bytes, %llu bad images skipped, %.1f s, %.0f images/s\n",
            record_path, (unsigned long long)p->written, bytes, (unsigned long long)p->skipped,
            seconds, (double)count / (seconds > 0 ? seconds : 1));
    return CLI_OK;
}

static void watch_signals(void)
{
    /* The second one ends the program at once. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int im2rec_pack(const struct im2rec_options *options, const char *list_path)
{
    struct pack p = {.options = options, .slots = 4 * options->num_thread + 1};
    const size_t stem = strlen(list_path) - strlen(".lst"), size = strlen(list_path) + 1;
    char *record = malloc(size), *index = malloc(size);
    int status = CLI_OK;
    p.made = calloc((size_t)p.slots, sizeof p.made[0]);
    p.scratch = calloc((size_t)options->num_thread + 1, sizeof p.scratch[0]);
    if (!record || !index || !p.made || !p.scratch) {
        status = cli_fail("im2rec: no memory");
    } else if (cvp_io_lst_load(list_path, &p.list) != CONVOP_OK) {
        status = fail();
    } else {
        snprintf(record, size, "%.*s.rec", (int)stem, list_path);
        snprintf(index, size, "%.*s.idx", (int)stem, list_path);
        watch_signals();
        status = check_indices(&p.list, list_path);
        if (status == CLI_OK && cvp_io_record_create(record, index, &p.writer) != CONVOP_OK)
            status = fail();
        if (status == CLI_OK) status = run(&p, list_path, record);
    }
    cvp_io_record_discard(&p.writer);
    for (int i = 0; p.made && i < p.slots; i++) cvp_io_record_free(&p.made[i].record);
    for (int i = 0; p.scratch && i <= options->num_thread; i++) im2rec_scratch_free(&p.scratch[i]);
    cvp_io_lst_free(&p.list);
    free(p.made);
    free(p.scratch);
    free(record);
    free(index);
    return status;
}
