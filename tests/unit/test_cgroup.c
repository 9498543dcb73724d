/* Control group limits, read from trees of files that the test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/common/cgroup.h"

static char root[64];

static void put(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof(name), "%s%s", root, path);
    for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/convop_test_XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct cvp_cgroup limits(void)
{
    struct cvp_cgroup out;
    cvp_cgroup_read(root, &out);
    return out;
}

static void nothing_to_read_is_no_limit(void **state)
{
    (void)state;
    assert_int_equal(limits().cpus, 0);
    assert_int_equal(limits().memory, 0);
    put("/proc/self/cgroup", "nonsense\n1:\n:::\n");
    assert_int_equal(limits().cpus, 0);
}

static void v2_smallest_of_all_levels_counts(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(limits().cpus, 0);
    assert_int_equal(limits().memory, 0);
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
    assert_int_equal(limits().cpus, 3); /* 2.5, rounded up */
    assert_int_equal(limits().memory, 1073741824);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/memory.max", "4096\n");
    assert_int_equal(limits().cpus, 1);
    assert_int_equal(limits().memory, 4096);
}

static void v2_root_of_a_container_answers(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    put("/sys/fs/outside/cpu.max", "100000 100000\n"); /* no group: above the mount */
    const char *const paths[] = {"0::/\n", "0::/not/mounted/here\n", "0::/../outside\n"};
    for (int i = 0; i < 3; i++) {
        put("/proc/self/cgroup", paths[i]);
        assert_int_equal(limits().cpus, 4);
    }
}

static void v1_controllers_have_their_own_paths(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "9:pids:/x\n5:cpuacct,cpu:/job\n3:memory:/mem/job\n0::/\n");
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/mem/job/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limits().cpus, 0);
    assert_int_equal(limits().memory, 0);
    put("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/memory/mem/memory.limit_in_bytes", "8192\n");
    assert_int_equal(limits().cpus, 2);
    assert_int_equal(limits().memory, 8192);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_to_read_is_no_limit),
        TEST(v2_smallest_of_all_levels_counts),
        TEST(v2_root_of_a_container_answers),
        TEST(v1_controllers_have_their_own_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
