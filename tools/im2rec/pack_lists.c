/* Finds the lists that a prefix stands for: every PREFIX*.lst beside it, or, if it is a folder,
 * every .lst in it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli.h"
#include "tools/im2rec/im2rec.h"

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_list(const char *name, const char *begin)
{
    const size_t n = strlen(name);
    return strncmp(name, begin, strlen(begin)) == 0 && n >= 4 && strcmp(name + n - 4, ".lst") == 0;
}

static int pack_one(const struct im2rec_options *o, const char *folder, size_t folder_length,
                    const char *name)
{
    const size_t size = folder_length + strlen(name) + 2;
    struct stat s;
    char *path = malloc(size);
    if (!path) return cli_fail("im2rec: no memory");
    snprintf(path, size, "%.*s%s", (int)folder_length, folder, name);
    int status = stat(path, &s) == 0 && S_ISREG(s.st_mode) ? im2rec_pack(o, path) : -1;
    free(path);
    return status;
}

int im2rec_pack_lists(const struct im2rec_options *options)
{
    struct stat s;
    const int is_folder = stat(options->prefix, &s) == 0 && S_ISDIR(s.st_mode);
    const size_t length = strlen(options->prefix);
    char *folder = malloc(length + 2);
    if (!folder) return cli_fail("im2rec: no memory");
    strcpy(folder, options->prefix);
    if (is_folder && length && folder[length - 1] != '/') strcat(folder, "/");
    const char *slash = strrchr(folder, '/');
    const size_t folder_length = slash ? (size_t)(slash - folder) + 1 : 0;
    char *begin = strdup(folder + folder_length);
    folder[folder_length] = 0;

    struct dirent **names = NULL;
    int status = CLI_OK, lists = 0;
    const int n = scandir(folder_length ? folder : ".", &names, NULL, by_name);
    if (n < 0 || !begin)
        status = cli_fail("im2rec: %s: %s", folder_length ? folder : ".", strerror(errno));
    for (int i = 0; i < n; i++) {
        if (status == CLI_OK && begin && is_list(names[i]->d_name, begin)) {
            int packed = pack_one(options, folder, folder_length, names[i]->d_name);
            lists += packed >= 0;
            if (packed > 0) status = packed;
        }
        free(names[i]);
    }
    free(names);
    free(folder);
    free(begin);
    if (status == CLI_OK && lists == 0)
        status = cli_fail("im2rec: there is no list %s%s*.lst; --list makes one", options->prefix,
                          is_folder ? "/" : "");
    return status;
}
