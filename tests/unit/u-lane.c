/* Lanes: locks that die with their owner, and ids that are nobody else's. */
#include "supervisor/lane.h"

#include "jail/base/fd.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FULL_MAP "0 0 4294967295\n"
#define BLOCK (64u * LANE_IDS)

struct files {
	char dir[64];
	char path[6][96];
	struct lane_ids_from from;
};

static void put(struct files *f, int i, const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	memcpy(f->path[i], path, sizeof(path));
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void files_make(struct files *f, const char *uid_map, const char *gid_map, const char *passwd, const char *group, const char *subuid)
{
	snprintf(f->dir, sizeof(f->dir), "/tmp/u-lane.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	put(f, 0, "uid_map", uid_map);
	put(f, 1, "gid_map", gid_map);
	put(f, 2, "passwd", passwd);
	put(f, 3, "group", group);
	put(f, 4, "subuid", subuid);
	put(f, 5, "subgid", "");
	f->from = (struct lane_ids_from){ f->path[0], f->path[1], f->path[2], f->path[3], f->path[4], f->path[5] };
}

static int find(const char *uid_map, const char *gid_map, const char *passwd, const char *group, const char *subuid, struct lane_ids *ids)
{
	struct files f;
	struct err err;

	files_make(&f, uid_map, gid_map, passwd, group, subuid);
	int r = lane_ids_find(&f.from, ids, &err);
	for (int i = 0; i < 6; i++)
		unlink(f.path[i]);
	rmdir(f.dir);
	return r;
}

static void test_full_map_gives_a_high_block(void **state UNUSED)
{
	struct lane_ids ids;

	assert_int_equal(find(FULL_MAP, FULL_MAP, "root:x:0:0::/:\n", "root:x:0:\n", "", &ids), 0);
	assert_int_equal(ids.lanes, 64);
	assert_true(ids.base >= 0x70000000u && ids.base + BLOCK <= 0x7fffffffu);
}

static void test_claimed_ids_are_left_alone(void **state UNUSED)
{
	struct lane_ids first, ids;
	char text[128];

	assert_int_equal(find(FULL_MAP, FULL_MAP, "", "", "", &first), 0);
	snprintf(text, sizeof(text), "x:x:%u:5::/:\n", first.base + 3);
	assert_int_equal(find(FULL_MAP, FULL_MAP, text, "", "", &ids), 0);
	assert_int_not_equal(ids.base, first.base);
	snprintf(text, sizeof(text), "x:x:%u:\n", first.base + BLOCK - 1);
	assert_int_equal(find(FULL_MAP, FULL_MAP, "", text, "", &ids), 0);
	assert_int_not_equal(ids.base, first.base);
	snprintf(text, sizeof(text), "someone:%u:65536\n", first.base - 65535);
	assert_int_equal(find(FULL_MAP, FULL_MAP, "", "", text, &ids), 0);
	assert_int_not_equal(ids.base, first.base);
	snprintf(text, sizeof(text), "someone:%u:65536\n", first.base - 65536);
	assert_int_equal(find(FULL_MAP, FULL_MAP, "", "", text, &ids), 0);
	assert_int_equal(ids.base, first.base);
}

static void test_a_container_gives_ids_inside_its_map(void **state UNUSED)
{
	struct lane_ids ids;

	assert_int_equal(find("0 100000 65536\n", "0 100000 65536\n", "nobody:x:65534:65534::/:\n", "", "", &ids), 0);
	assert_int_equal(ids.lanes, 64);
	assert_true(ids.base >= 4096 && ids.base + BLOCK <= 65534);
}

static void test_gids_must_be_mapped_too(void **state UNUSED)
{
	struct lane_ids ids;

	assert_int_equal(find(FULL_MAP, "0 100000 20000\n", "", "", "", &ids), -ENOSPC);
	assert_int_equal(find("0 100000 20000\n", "0 100000 20000\n", "", "", "", &ids), 0);
	assert_true(ids.base + ids.lanes * LANE_IDS <= 20000);
}

static void test_a_small_map_gives_fewer_lanes(void **state UNUSED)
{
	struct lane_ids ids;

	assert_int_equal(find("0 100000 5000\n", "0 100000 5000\n", "", "", "", &ids), 0);
	assert_true(ids.lanes >= 1 && ids.lanes < 64);
	assert_true(ids.base >= 4096 && ids.base + ids.lanes * LANE_IDS <= 5000);
}

static void test_one_id_is_no_range(void **state UNUSED)
{
	struct lane_ids ids;

	assert_int_equal(find("0 1000 1\n", "0 1000 1\n", "", "", "", &ids), -ENOSPC);
	assert_int_equal(find("", "", "", "", "", &ids), -ENOENT);
}

static char lanes_dir[64];

static int setup(void **state UNUSED)
{
	snprintf(lanes_dir, sizeof(lanes_dir), "/tmp/u-lane.XXXXXX");
	return mkdtemp(lanes_dir) ? 0 : -1;
}

static int teardown(void **state UNUSED)
{
	char path[96];

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/%d", lanes_dir, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/instance", lanes_dir);
	unlink(path);
	return rmdir(lanes_dir);
}

static void test_each_gets_a_lane_of_its_own(void **state UNUSED)
{
	struct lane a, b, c;
	struct err err;

	assert_int_equal(lane_take_in(lanes_dir, 2, &a, &err), 0);
	assert_int_equal(lane_take_in(lanes_dir, 2, &b, &err), 0);
	assert_int_equal(a.number, 0);
	assert_int_equal(b.number, 1);
	assert_string_not_equal(a.name, b.name);
	assert_memory_equal(a.name, b.name, 9); /* the same instance */
	assert_int_equal(lane_take_in(lanes_dir, 2, &c, &err), -EBUSY);
	assert_true(lane_is_alive(a.name, &b));
	assert_false(lane_is_alive(b.name, &b)); /* what carries our own name is a predecessor's */
	lane_release(&a);
	assert_false(lane_is_alive(a.name, &b));
	assert_int_equal(lane_take_in(lanes_dir, 2, &c, &err), 0);
	assert_int_equal(c.number, 0);
	lane_release(&b);
	lane_release(&c);
}

static void test_a_killed_owner_leaves_its_lane(void **state UNUSED)
{
	struct lane self, other;
	struct err err;
	char name[32];
	int pipe_fd[2];

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (lane_take_in(lanes_dir, 4, &other, &err) < 0 || write(pipe_fd[1], other.name, sizeof(other.name)) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(pipe_fd[0], name, sizeof(name)), sizeof(name));
	assert_int_equal(lane_take_in(lanes_dir, 4, &self, &err), 0);
	assert_true(lane_is_alive(name, &self));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(lane_is_alive(name, &self));
	lane_release(&self);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void test_a_directory_of_others_is_refused(void **state UNUSED)
{
	struct lane lane;
	struct err err;
	char link[96];

	chmod(lanes_dir, 0777);
	assert_int_equal(lane_take_in(lanes_dir, 2, &lane, &err), -EPERM);
	chmod(lanes_dir, 0700);
	snprintf(link, sizeof(link), "%s-link", lanes_dir);
	assert_int_equal(symlink(lanes_dir, link), 0);
	assert_true(lane_take_in(link, 2, &lane, &err) < 0);
	unlink(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_map_gives_a_high_block),
		cmocka_unit_test(test_claimed_ids_are_left_alone),
		cmocka_unit_test(test_a_container_gives_ids_inside_its_map),
		cmocka_unit_test(test_gids_must_be_mapped_too),
		cmocka_unit_test(test_a_small_map_gives_fewer_lanes),
		cmocka_unit_test(test_one_id_is_no_range),
		cmocka_unit_test_setup_teardown(test_each_gets_a_lane_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_killed_owner_leaves_its_lane, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_directory_of_others_is_refused, setup, teardown),
	};
	return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
