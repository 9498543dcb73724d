/* The tuning cache's file with any bytes. What must hold: it is read without harm; what is exported
 * from it is read back to the same records; a record that is stored is found, and in the file
 * unless the file is not ours, whose bytes then stay; compaction loses no record.
 *
 * A checksum would hide everything behind it from the fuzzer. So the line mode "sum" in front of
 * the input has the checksums of all lines set right first. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "convop/settings.h"
#include "convop/tune.h"
#include "fuzz.h"
#include "src/common/alloc.h"
#include "src/operator/tuning/tuning.h"

#define HEX        16
#define OWN_DEVICE "the fuzzer's"

static char folder[64], file[80], copy[80];

static void remove_folder(void)
{
    unlink(file);
    unlink(copy);
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0]) return;
    /* In memory where there is such a place, for the speed. */
    snprintf(folder, sizeof folder, "%s/convop-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) abort();
    snprintf(file, sizeof file, "%s/tuning.tsv", folder);
    snprintf(copy, sizeof copy, "%s/copy.tsv", folder);
    atexit(remove_folder);
}

static void write_file(const char *bytes, size_t size)
{
    unlink(file);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

/* Replaces what follows the last tab of each line, if it is as long as a checksum. */
static void set_checksums(char *text, size_t size)
{
    for (char *line = text, *end = text + size; line < end;) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        char *stop = newline ? newline : end;
        if (stop - line > HEX && stop[-HEX - 1] == '\t') {
            char sum[HEX + 1];
            snprintf(sum, sizeof sum, "%016llx",
                     (unsigned long long)XXH3_64bits(line, (size_t)(stop - line) - HEX - 1));
            memcpy(stop - HEX, sum, HEX);
        }
        line = stop + 1;
    }
}

/* Nothing in memory, then what the file has. */
static convop_tune_listing *start_anew(void)
{
    convop_tune_listing *listing = NULL;
    FUZZ_CHECK(convop_set("cache_dir", "none") == CONVOP_OK);
    FUZZ_CHECK(convop_tune_forget(NULL, NULL) == CONVOP_OK);
    FUZZ_CHECK(convop_set("cache_dir", folder) == CONVOP_OK);
    FUZZ_CHECK(convop_tune_list(NULL, &listing) == CONVOP_OK);
    return listing;
}

static int is_same(const convop_tune_record *a, const convop_tune_record *b)
{
    return a && b && strcmp(a->device, b->device) == 0 && strcmp(a->software, b->software) == 0 &&
           strcmp(a->problem, b->problem) == 0 && strcmp(a->impl, b->impl) == 0 &&
           strcmp(a->plan, b->plan) == 0 && a->impl_version == b->impl_version && a->ms == b->ms &&
           a->estimated_ms == b->estimated_ms && a->workspace_bytes == b->workspace_bytes &&
           a->when == b->when;
}

static void check_same(const convop_tune_listing *a, const convop_tune_listing *b)
{
    size_t count = convop_tune_listing_count(a);
    FUZZ_CHECK(convop_tune_listing_count(b) == count);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(is_same(convop_tune_listing_at(a, i), convop_tune_listing_at(b, i)));
}

static void check_found(const convop_tune_listing *listing)
{
    for (size_t i = 0; i < convop_tune_listing_count(listing); i++) {
        const convop_tune_record *r = convop_tune_listing_at(listing, i);
        struct cvp_tune_key key = {r->device, r->software, r->problem};
        struct cvp_tune_choice choice;
        if (strlen(r->impl) >= sizeof choice.impl) continue;
        FUZZ_CHECK(cvp_tune_lookup(&key, &choice) == 1);
        FUZZ_CHECK(strcmp(choice.impl, r->impl) == 0 && choice.ms == r->ms);
        FUZZ_CHECK(strcmp(choice.plan ? choice.plan : "", r->plan) == 0);
        cvp_free(choice.plan);
    }
}

static off_t size_of_file(void)
{
    struct stat s;
    return stat(file, &s) == 0 ? s.st_size : -1;
}

static void read_and_write(const char *bytes, size_t size)
{
    write_file(bytes, size);
    convop_tune_listing *first = start_anew(), *second = NULL;
    check_found(first);
    /* Out and in again. */
    convop_tune_counts counts = {.struct_size = sizeof counts};
    FUZZ_CHECK(convop_tune_export(copy) == CONVOP_OK);
    convop_tune_listing_destroy(&second);
    unlink(file);
    second = start_anew();
    FUZZ_CHECK(convop_tune_listing_count(second) == 0);
    convop_tune_listing_destroy(&second);
    FUZZ_CHECK(convop_tune_import(copy, &counts) == CONVOP_OK && counts.bad == 0);
    FUZZ_CHECK(convop_tune_list(NULL, &second) == CONVOP_OK);
    check_same(first, second);
    convop_tune_listing_destroy(&second);
    /* One more, and compaction. */
    write_file(bytes, size);
    convop_tune_listing_destroy(&first);
    first = start_anew();
    struct cvp_tune_key key = {OWN_DEVICE, "own", "record"};
    struct cvp_tune_choice choice = {.impl = "own"}, found;
    FUZZ_CHECK(cvp_tune_store(&key, &choice) == CONVOP_OK);
    FUZZ_CHECK(cvp_tune_lookup(&key, &found) == 1 && strcmp(found.impl, "own") == 0);
    convop_tune_filter filter = {sizeof filter, OWN_DEVICE, "own", "record", "own", 0, 0};
    convop_status status = convop_tune_forget(&filter, NULL);
    FUZZ_CHECK(status == CONVOP_OK || (status == CONVOP_E_IO && size_of_file() == (off_t)size));
    second = start_anew();
    check_same(first, second);
    convop_tune_listing_destroy(&first);
    convop_tune_listing_destroy(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mode[] = "sum\n";
    /* Forgetting the fuzzer's own record would take others that have its texts within theirs. */
    if (memmem(data, size, OWN_DEVICE, strlen(OWN_DEVICE))) return 0;
    make_folder();
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    size_t skip =
        size >= sizeof mode - 1 && memcmp(text, mode, sizeof mode - 1) == 0 ? sizeof mode - 1 : 0;
    if (skip) set_checksums(text + skip, size - skip);
    read_and_write(text + skip, size - skip);
    free(text);
    return 0;
}
