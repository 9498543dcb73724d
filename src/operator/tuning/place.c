/* Where the tuning cache lies: the setting "cache_dir", else the user's folder for caches as the
 * XDG base directory specification 0.8 has it. Only absolute paths count, so that nothing is ever
 * written where the process happens to stand. */
#include "src/operator/tuning/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/common/settings.h"
#include "src/config.h"

#define FILE_NAME "tuning.tsv"

const char *cvp_tune_system_path(void)
{
    return CVP_DATA_DIR "/convop/" FILE_NAME;
}

static void refuse(char *path, char *why, const char *reason)
{
    path[0] = '\0';
    snprintf(why, CVP_TUNE_WHY, "%s", reason);
}

/* path = folder/rest/FILE_NAME */
static void join(char *path, char *why, const char *folder, const char *rest)
{
    int n = snprintf(path, CVP_TUNE_PATH, "%s%s/" FILE_NAME, folder, rest);
    why[0] = '\0';
    if (n < 0 || n >= CVP_TUNE_PATH) refuse(path, why, "the path of its folder is too long");
}

/* secure_getenv: in a program with more rights than its user, the user must not choose what is
 * written to. */
void cvp_tune_place(char path[CVP_TUNE_PATH], char why[CVP_TUNE_WHY])
{
    char setting[256];
    if (cvp_setting_text(CVP_SETTING_CACHE_DIR, setting, sizeof setting) != CONVOP_OK) {
        refuse(path, why, "the setting cache_dir is too long");
        return;
    }
    if (strcmp(setting, "none") == 0) {
        refuse(path, why, "the setting cache_dir is none");
        return;
    }
    if (setting[0] != '\0') {
        if (setting[0] == '/')
            join(path, why, setting, "");
        else
            refuse(path, why, "the setting cache_dir is no absolute path");
        return;
    }
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (cache && cache[0] == '/')
        join(path, why, cache, "/convop");
    else if (home && home[0] == '/')
        join(path, why, home, "/.cache/convop");
    else
        refuse(path, why, "neither XDG_CACHE_HOME nor HOME is an absolute path");
}

/* Cuts the last part off; 0 if nothing is left. */
static int to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) return 0;
    *slash = '\0';
    return 1;
}

void cvp_tune_make_folder(const char *path)
{
    char folder[CVP_TUNE_PATH], above[CVP_TUNE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    if (!to_parent(folder) || mkdir(folder, 0700) == 0 || errno != ENOENT) return;
    memcpy(above, folder, sizeof above);
    if (to_parent(above) && mkdir(above, 0700) == 0) (void)mkdir(folder, 0700);
}

int cvp_tune_can_write(const char *path, char why[CVP_TUNE_WHY])
{
    char at[CVP_TUNE_PATH];
    snprintf(at, sizeof at, "%s", path);
    for (int level = 0; level < 4; level++) {
        int mode = level == 0 ? R_OK | W_OK : W_OK | X_OK;
        if (access(at, mode) == 0) return 1;
        if (errno != ENOENT || level == 3 || !to_parent(at)) break;
    }
    snprintf(why, CVP_TUNE_WHY, "%s", strerror(errno));
    return 0;
}
