/* Finds the images below a folder in the order in which MXNet's im2rec.py does: names sorted by
 * their bytes, the files of a folder before the folders in it, links followed. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "tools/cli.h"
#include "tools/im2rec/im2rec.h"

/* The folders from the root down to where the walk is: a link to one of them is no way on. */
struct folder {
    const struct folder *above;
    dev_t device;
    ino_t inode;
};

struct walk {
    const struct im2rec_options *options;
    struct im2rec_files *files;
    int64_t labels; /* folders with images so far */
};

/* Where the extension begins: the last point that has something else than points before it. */
static const char *extension(const char *name)
{
    const char *point = strrchr(name, '.');
    return point && strspn(name, ".") < (size_t)(point - name) ? point : "";
}

static int is_image(const struct im2rec_options *o, const char *name)
{
    for (size_t i = 0; i < o->num_exts; i++)
        if (strcasecmp(extension(name), o->exts[i]) == 0) return 1;
    return 0;
}

static char *join(const char *folder, const char *name)
{
    const size_t n = strlen(folder), size = n + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) return NULL;
    memcpy(path, folder, n);
    if (n && folder[n - 1] != '/') path[n] = '/';
    strcpy(path + n + (n && folder[n - 1] != '/'), name);
    return path;
}

static int no_memory(void)
{
    return cli_fail("im2rec: no memory for the list of images");
}

static int add(struct walk *w, const char *relative, const char *name, int64_t label)
{
    struct im2rec_files *f = w->files;
    if (f->count == f->capacity) {
        const size_t capacity = f->capacity ? 2 * f->capacity : 1024;
        void *more = realloc(f->found, capacity * sizeof f->found[0]);
        if (!more) return no_memory();
        f->found = more;
        f->capacity = capacity;
    }
    char *path = join(relative, name);
    if (!path) return no_memory();
    f->found[f->count] = (struct im2rec_found){path, (int64_t)f->count, label};
    f->count++;
    return CLI_OK;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int is_open(const struct folder *f, const struct stat *s)
{
    for (; f; f = f->above)
        if (f->device == s->st_dev && f->inode == s->st_ino) return 1;
    return 0;
}

static int visit(struct walk *w, const struct folder *above, const char *folder,
                 const char *relative);

/* One name of a folder, as an image (pass 0) or as a folder to go on into (pass 1). */
static int visit_name(struct walk *w, const struct folder *here, const char *folder,
                      const char *relative, const char *name, int pass, int64_t *label)
{
    struct stat s;
    int status = CLI_OK;
    char *path = join(folder, name), *below = join(relative, name);
    if (!path || !below) {
        status = no_memory();
    } else if (stat(path, &s) != 0) {
        status = CLI_OK; /* a link that leads nowhere */
    } else if (pass == 0 && S_ISREG(s.st_mode) && is_image(w->options, name)) {
        if (*label < 0) *label = w->labels++;
        status = add(w, relative, name, w->options->recursive ? *label : 0);
    } else if (pass == 1 && S_ISDIR(s.st_mode)) {
        if (is_open(here, &s))
            cli_fail("im2rec: warning: %s leads back to a folder above it, and is left out", path);
        else
            status = visit(w, here, path, below);
    }
    free(path);
    free(below);
    return status;
}

static int visit(struct walk *w, const struct folder *above, const char *folder,
                 const char *relative)
{
    struct dirent **names = NULL;
    struct stat s;
    const int n = scandir(folder, &names, not_dots, by_name);
    if (n < 0 || stat(folder, &s) != 0)
        return cli_fail("im2rec: %s: cannot be read: %s", folder, strerror(errno));
    const struct folder here = {above, s.st_dev, s.st_ino};
    int64_t label = -1;
    int status = CLI_OK;
    for (int pass = 0; pass <= w->options->recursive; pass++)
        for (int i = 0; i < n && status == CLI_OK; i++)
            status = visit_name(w, &here, folder, relative, names[i]->d_name, pass, &label);
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
    return status;
}

int im2rec_walk(const struct im2rec_options *options, struct im2rec_files *files)
{
    struct walk w = {options, files, 0};
    return visit(&w, NULL, options->root, "");
}

void im2rec_files_free(struct im2rec_files *files)
{
    for (size_t i = 0; i < files->count; i++) free(files->found[i].path);
    free(files->found);
    *files = (struct im2rec_files){NULL, 0, 0};
}
