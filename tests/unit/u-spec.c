/* spec_check() takes a good spec and refuses each single thing that is wrong with it. */
#include "jail/base/compiler.h"
#include "jail/spec.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct jail_spec spec;

static void mount_add(const char *from, const char *to, uint32_t flags)
{
	struct spec_mount *m = &spec.mounts[spec.mount_count++];

	memset(m, 0, sizeof(*m));
	snprintf(m->from, sizeof(m->from), "%s", from);
	snprintf(m->to, sizeof(m->to), "%s", to);
	m->flags = flags;
}

static int good(void **state)
{
	(void)state;
	memset(&spec, 0, sizeof(spec));
	spec.magic = SPEC_MAGIC;
	spec.version = SPEC_VERSION;
	spec.size = sizeof(spec);
	spec.flags = SPEC_SHM | SPEC_MDWE;
	spec.best_effort = LAYER_BIT(LAYER_MDWE);
	snprintf(spec.profile, sizeof(spec.profile), "pure");
	spec.limits = (struct spec_limits){
		.memory_bytes = 128u << 20, .tmp_bytes = 16u << 20, .shm_bytes = 1u << 20, .file_bytes = 1u << 20,
		.stack_bytes = 8u << 20, .tmp_inodes = 1024, .pids = 16, .open_files = 64, .cpu_ms = 5000,
		.cpu_quota_pct = 100, .wall_ms = 5000, .stdout_bytes = 65536, .stderr_bytes = 16384, .result_bytes = 262144,
	};
	mount_add("/usr/lib/python3", "/usr/lib/python3", 0);
	mount_add("usr/lib", "/lib", SPEC_MOUNT_SYMLINK);
	mount_add("/srv/data", "/data", SPEC_MOUNT_RW);
	memcpy(spec.imports, "math\0json.*", spec.imports_len = sizeof("math\0json.*"));
	memcpy(spec.preload, "math", spec.preload_len = sizeof("math"));
	spec.filter[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	spec.filter_len = 1;
	return 0;
}

static void a_good_spec_passes(void **state)
{
	(void)state;
	assert_null(spec_check(&spec));
	spec.limits.tmp_bytes = 0;
	spec.limits.tmp_inodes = 0;
	assert_null(spec_check(&spec));
}

static void refused_as(const char *what)
{
	const char *why = spec_check(&spec);

	if (!why || !strstr(why, what))
		fail_msg("wanted \"%s\", got \"%s\"", what, why ? why : "(accepted)");
	good(NULL);
}

static void the_head_is_proven(void **state)
{
	(void)state;
	spec.magic++;
	refused_as("not a jail spec");
	spec.version++;
	refused_as("not a jail spec");
	spec.size--;
	refused_as("not a jail spec");
	spec.flags |= SPEC_FLAGS_ALL + 1u;
	refused_as("unknown flag");
	spec.best_effort |= LAYER_BIT(LAYER_COUNT);
	refused_as("best_effort");
	spec.off |= LAYER_BIT(LAYER_SECCOMP);
	refused_as("off");
	memset(spec.profile, 'x', sizeof(spec.profile));
	refused_as("profile");
	spec.profile[0] = '\0';
	refused_as("profile");
	spec.profile[sizeof(spec.profile) - 1] = 'x';
	refused_as("profile");
}

static void bad_paths_are_refused(void **state)
{
	static const char *const bad[] = { "", "/", "//", "data", "/data/", "//data", "/a//b", "/a/./b", "/.", "/a/..",
					   "/../etc", "/a/../b", "/a\nb", "/a\x7f" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		mount_add(bad[i], "/x", 0);
		refused_as("\"from\" is not");
		mount_add("/srv/x", bad[i], 0);
		refused_as("\"to\" is not");
	}
	mount_add("/srv/..x", "/..x/...", 0);
	assert_null(spec_check(&spec));
}

static void the_host_and_the_jails_own_places_are_refused(void **state)
{
	static const char *const from[] = { "/proc", "/proc/sys", "/sys", "/sys/fs/cgroup", "/dev", "/dev/sda", "/run",
					    "/run/docker.sock", "/var/run/x" };
	static const char *const to[] = { "/proc", "/proc/1", "/sys", "/dev", "/dev/null", "/dev/shm/x", "/run/x", "/tmp", "/tmp/x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		mount_add(from[i], "/x", 0);
		refused_as("\"from\" shows");
	}
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		mount_add("/srv/x", to[i], 0);
		refused_as("\"to\" is a place");
	}
	mount_add("/process", "/devices", 0);
	mount_add("/running", "/tmpfiles", 0);
	assert_null(spec_check(&spec));
}

static void mounts_are_bounded_and_distinct(void **state)
{
	(void)state;
	spec.mount_count = SPEC_MOUNTS_MAX + 1;
	refused_as("too many mounts");
	mount_add("/srv/x", "/data", 0);
	refused_as("twice");
	mount_add("/srv/x", "/x", SPEC_MOUNT_FLAGS_ALL + 1u);
	refused_as("unknown flag");
	mount_add("/srv/x", "/x", SPEC_MOUNT_RW | SPEC_MOUNT_EXEC);
	refused_as("writable and executable");
	mount_add("x", "/x", SPEC_MOUNT_SYMLINK | SPEC_MOUNT_RW);
	refused_as("no other flag");
	mount_add("../x", "/x", SPEC_MOUNT_SYMLINK);
	refused_as("symlink text");
	mount_add("", "/x", SPEC_MOUNT_SYMLINK);
	refused_as("symlink text");
	memset(spec.mounts[0].to, 'x', sizeof(spec.mounts[0].to));
	refused_as("not terminated");
	spec.mounts[0].from[SPEC_PATH_MAX - 1] = 'x';
	refused_as("not terminated");
	spec.mounts[spec.mount_count].flags = 1;
	refused_as("behind the last");
}

static void limits_that_mean_no_limit_are_refused(void **state)
{
	(void)state;
	spec.limits.memory_bytes = 0;
	refused_as("memory");
	spec.limits.memory_bytes = UINT64_MAX;
	refused_as("memory");
	spec.limits.tmp_bytes = 1;
	refused_as("tmp out");
	spec.limits.tmp_inodes = 0;
	refused_as("tmp_inodes");
	spec.limits.shm_bytes = 0;
	refused_as("shm");
	spec.limits.file_bytes = UINT64_MAX;
	refused_as("file_size");
	spec.limits.stack_bytes = 4096;
	refused_as("stack");
	spec.limits.pids = 0;
	refused_as("pids");
	spec.flags |= SPEC_INIT;
	spec.limits.pids = 1;
	refused_as("pids");
	spec.limits.open_files = 3;
	refused_as("open_files");
	spec.limits.cpu_ms = 0;
	refused_as("cpu");
	spec.limits.wall_ms = UINT32_MAX;
	refused_as("wall");
	spec.limits.cpu_quota_pct = 0;
	refused_as("quota");
	spec.limits.stdout_bytes = UINT32_MAX;
	refused_as("stdout");
}

static void module_lists_are_proven(void **state)
{
	(void)state;
	spec.imports_len = SPEC_MODULES_MAX + 1;
	refused_as("too long");
	spec.imports_len--;
	refused_as("not terminated");
	spec.imports[4] = 'x';
	spec.imports[5] = '\0';
	spec.imports[6] = '\0';
	refused_as("empty name");
	spec.imports[0] = '\0';
	refused_as("empty name");
	spec.imports[0] = '/';
	refused_as("no module name");
	spec.preload[SPEC_MODULES_MAX - 1] = 'x';
	refused_as("behind the last");
}

static void prelude_and_filter_are_bounded(void **state)
{
	(void)state;
	spec.prelude_len = sizeof(spec.prelude) + 1;
	refused_as("prelude too long");
	spec.prelude_len = 1;
	refused_as("NUL");
	spec.filter_len = 0;
	refused_as("filter: length");
	spec.filter_len = SPEC_FILTER_MAX + 1;
	refused_as("filter: length");
	spec.filter_len = UINT32_MAX;
	refused_as("filter: length");
	spec.filter[0].code = BPF_LD;
	refused_as("return");
}

#define TEST(name) cmocka_unit_test_setup(name, good)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_spec_passes),
		TEST(the_head_is_proven),
		TEST(bad_paths_are_refused),
		TEST(the_host_and_the_jails_own_places_are_refused),
		TEST(mounts_are_bounded_and_distinct),
		TEST(limits_that_mean_no_limit_are_refused),
		TEST(module_lists_are_proven),
		TEST(prelude_and_filter_are_bounded),
	};

	return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
