/* What the control group of this process lets it use. */
#ifndef CVP_COMMON_CGROUP_H
#define CVP_COMMON_CGROUP_H

#include <stdint.h>

struct cvp_cgroup {
    int cpus;       /* the quota, rounded up; 0: none */
    int64_t memory; /* bytes; 0: no limit */
};

/* Reads /proc/self/cgroup and /sys/fs/cgroup below `root` ("" for the real ones). */
void cvp_cgroup_read(const char *root, struct cvp_cgroup *out);

#endif
