/* Control group limits, versions 1 and 2. A limit holds for all groups below it, so the smallest
 * from the process's own group up to the root counts. In a container the path that /proc names may
 * not be mounted; then only the root answers, which is the container's own group.
 * Source: the kernel's admin-guide/cgroup-v2 and scheduler/sched-bwc. */
#include "src/common/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/file.h"
#include "src/common/size.h"

/* Version 1 writes "no limit" as the largest multiple of a page. */
#define NO_LIMIT ((int64_t)1 << 60)

struct group {
    const char *root, *mount, *path;
};

/* Text of a file of the group; 0 if there is none. */
static int group_file(const struct group *g, const char *file, char *text, size_t size)
{
    char name[PATH_MAX];
    int n =
        snprintf(name, sizeof(name), "%s/sys/fs/cgroup%s%s/%s", g->root, g->mount, g->path, file);
    return n > 0 && (size_t)n < sizeof(name) && cvp_file_text(name, text, size) > 0;
}

static void limit_cpus(struct cvp_cgroup *out, int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0) return;
    int64_t cpus = cvp_ceil_div(quota, period);
    if (cpus < INT_MAX && (out->cpus == 0 || cpus < out->cpus)) out->cpus = (int)cpus;
}

static void limit_memory(struct cvp_cgroup *out, int64_t bytes)
{
    if (bytes <= 0 || bytes >= NO_LIMIT) return;
    if (out->memory == 0 || bytes < out->memory) out->memory = bytes;
}

/* One group of either version: only the files of one exist. "max" reads as 0. */
static void read_group(const struct group *g, struct cvp_cgroup *out)
{
    char text[64], period[64];
    char *end;
    if (group_file(g, "cpu.max", text, sizeof(text))) {
        long long quota = strtoll(text, &end, 10);
        limit_cpus(out, quota, strtoll(end, NULL, 10));
    }
    if (group_file(g, "cpu.cfs_quota_us", text, sizeof(text)) &&
        group_file(g, "cpu.cfs_period_us", period, sizeof(period)))
        limit_cpus(out, strtoll(text, NULL, 10), strtoll(period, NULL, 10));
    if (group_file(g, "memory.max", text, sizeof(text))) limit_memory(out, strtoll(text, NULL, 10));
    if (group_file(g, "memory.limit_in_bytes", text, sizeof(text)))
        limit_memory(out, strtoll(text, NULL, 10));
}

/* The group and all above it. Shortens path. */
static void read_groups(const char *root, const char *mount, char *path, struct cvp_cgroup *out)
{
    /* Of a group outside of its namespace only the root can be seen. */
    if (strstr(path, "/..") != NULL) path[0] = '\0';
    for (;;) {
        char *slash = strrchr(path, '/');
        if (slash != NULL && slash[1] == '\0') *slash = '\0';
        struct group g = {root, mount, path};
        read_group(&g, out);
        slash = strrchr(path, '/');
        if (slash == NULL) return;
        *slash = '\0';
    }
}

void cvp_cgroup_read(const char *root, struct cvp_cgroup *out)
{
    char name[PATH_MAX], text[8192];
    *out = (struct cvp_cgroup){0, 0};
    int n = snprintf(name, sizeof(name), "%s/proc/self/cgroup", root);
    if (n < 0 || (size_t)n >= sizeof(name)) return;
    cvp_file_text(name, text, sizeof(text));
    /* Lines are "number:controllers:path"; version 2 has number 0 and no controllers. */
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *path = line;
        strsep(&path, ":");
        char *controllers = strsep(&path, ":");
        if (path == NULL) continue;
        if (controllers[0] == '\0') {
            read_groups(root, "", path, out);
            continue;
        }
        char *controller;
        while ((controller = strsep(&controllers, ",")) != NULL) {
            if (strcmp(controller, "cpu") != 0 && strcmp(controller, "memory") != 0) continue;
            char mount[16], copy[PATH_MAX];
            snprintf(mount, sizeof(mount), "/%s", controller);
            if (strlen(path) >= sizeof(copy)) continue;
            strcpy(copy, path);
            read_groups(root, mount, copy, out);
        }
    }
}
