/* Runs a fuzzer's function on each file that is named, and on the files of each folder: without a
 * fuzzing engine the seeds are tests like any other. */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return -1;
    }
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (data == NULL || size < 0 || fread(data, 1, (size_t)size, f) != (size_t)size) abort();
    fclose(f);
    fprintf(stderr, "%s\n", path); /* before the run, so that an abort names it */
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

static int run_folder(const char *path, DIR *folder)
{
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char file[4096];
        struct stat status;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (stat(file, &status) != 0 || !S_ISREG(status.st_mode)) continue;
        if (run_file(file) < 0) return -1;
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        int ran = folder != NULL ? run_folder(argv[i], folder) : run_file(argv[i]);
        if (folder != NULL) closedir(folder);
        if (ran < 0) return 1;
        count += ran;
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
