/* The kernel's record of a jail, good and with one fact wrong at a time: each names its layer. */
#include "jail/zygote_proto.h"
#include "supervisor/receipt.h"

#include "tests/unit/unit.h"

#include <string.h>

static const char good_status[] = "Name:\tjail\nUid:\t70002\t70002\t70002\t70002\nGid:\t70002\t70002\t70002\t70002\nGroups:\t \n"
				  "Threads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
				  "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";

static const char good_mounts[] = "92 77 0:42 / / ro,nosuid,nodev,noexec,relatime - tmpfs none rw,size=256k\n"
				  "93 92 0:6 /null /dev/null ro,nosuid,noexec,relatime - devtmpfs devtmpfs rw\n"
				  "98 92 254:0 /usr/lib /usr/lib ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n"
				  "103 92 0:44 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs none rw\n";

/* good with the first `from` replaced. */
static char *changed(const char *good, const char *from, const char *to, char buf[2048])
{
	const char *at = strstr(good, from);

	assert_non_null(at);
	snprintf(buf, 2048, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	return buf;
}

static int take_status(const char *from, const char *to, uint32_t slot_uid, struct receipt *r, enum layer *layer)
{
	char buf[2048];
	struct err err;

	memset(r, 0, sizeof(*r));
	return receipt_take_status(changed(good_status, from, to, buf), slot_uid, r, layer, &err);
}

static void a_good_status_is_taken(void **state)
{
	struct receipt r;
	enum layer layer;

	(void)state;
	assert_int_equal(take_status("", "", 70002, &r, &layer), 0);
	assert_int_equal(r.host_uid, 70002);
	assert_int_equal(r.caps, 0);
	assert_true(r.no_new_privs);
	assert_int_equal(r.degraded, 0);
}

static void each_wrong_fact_names_its_layer(void **state)
{
	static const struct {
		const char *from, *to;
		enum layer layer;
	} wrong[] = {
		{ "Uid:\t70002\t70002\t70002\t70002", "Uid:\t0\t0\t0\t0", LAYER_USER },
		{ "Gid:\t70002\t70002\t70002\t70002", "Gid:\t0\t0\t0\t0", LAYER_USER },
		{ "Uid:\t70002\t70002", "Uid:\t70002\t70003", LAYER_USER },
		{ "Uid:\t70002\t70002\t70002\t70002", "Uid:\t70002\t70002\t70002\t0", LAYER_USER },
		{ "Gid:\t70002\t70002\t70002", "Gid:\t70002\t70002\t70003", LAYER_USER },
		{ "Uid:", "Nid:", LAYER_USER },
		{ "Groups:\t \n", "Groups:\t4 27 \n", LAYER_GROUPS },
		{ "Groups:\t \n", "", LAYER_USER },
		{ "CapInh:\t0000000000000000", "CapInh:\t0000000000000001", LAYER_CAPS },
		{ "CapPrm:\t0000000000000000", "CapPrm:\t0000000000200000", LAYER_CAPS },
		{ "CapEff:\t0000000000000000", "CapEff:\t8000000000000000", LAYER_CAPS },
		{ "CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", LAYER_CAPS },
		{ "CapAmb:\t0000000000000000", "CapAmb:\t0000000000000400", LAYER_CAPS },
		{ "CapBnd:", "CapNot:", LAYER_CAPS },
		{ "NoNewPrivs:\t1", "NoNewPrivs:\t0", LAYER_PRIVS },
		{ "NoNewPrivs:", "NoNewPriv:", LAYER_PRIVS },
		{ "Seccomp:\t2", "Seccomp:\t0", LAYER_SECCOMP },
		{ "Seccomp:\t2", "Seccomp:\t1", LAYER_SECCOMP },
		{ "Threads:\t1", "Threads:\t2", LAYER_PID },
	};
	struct receipt r;
	enum layer layer;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		layer = LAYER_COUNT;
		assert_true(take_status(wrong[i].from, wrong[i].to, 70002, &r, &layer) < 0);
		assert_int_equal(layer, wrong[i].layer);
	}
}

static void the_id_of_another_slot_is_refused(void **state)
{
	struct receipt r;
	enum layer layer = LAYER_COUNT;

	(void)state;
	assert_true(take_status("", "", 70003, &r, &layer) < 0);
	assert_int_equal(layer, LAYER_USER);
	assert_true(take_status("Gid:\t70002\t70002\t70002\t70002", "Gid:\t70003\t70003\t70003\t70003", 70002, &r, &layer) < 0);
	assert_int_equal(take_status("", "", 0, &r, &layer), 0);
}

static void a_shared_namespace_is_refused_or_reported(void **state)
{
	static const enum layer layers[NS_COUNT] = { LAYER_USER, LAYER_MOUNT, LAYER_NET, LAYER_PID,
						     LAYER_IPC, LAYER_UTS, LAYER_CGROUP_NS, LAYER_TIME };
	static struct jail_spec spec;
	const uint32_t all = (1u << NS_COUNT) - 1;
	struct receipt r = { 0 };
	enum layer layer;
	struct err err;

	(void)state;
	assert_int_equal(receipt_take_namespaces(all, &spec, &r, &layer, &err), 0);
	assert_int_equal(r.namespaces, all);
	assert_int_equal(r.degraded, 0);
	for (int i = 0; i < NS_COUNT; i++) {
		spec.best_effort = 0;
		assert_true(receipt_take_namespaces(all & ~(1u << i), &spec, &r, &layer, &err) < 0);
		assert_int_equal(layer, layers[i]);
		spec.best_effort = LAYER_BIT(layers[i]);
		r.degraded = 0;
		assert_int_equal(receipt_take_namespaces(all & ~(1u << i), &spec, &r, &layer, &err), 0);
		assert_int_equal(r.degraded, LAYER_BIT(layers[i]));
	}
}

static void groups_left_to_an_ordinary_user_are_reported(void **state)
{
	struct receipt r;
	enum layer layer;

	(void)state;
	assert_int_equal(take_status("Groups:\t \n", "Groups:\t65534 \n", 0, &r, &layer), 0);
	assert_int_equal(r.degraded, LAYER_BIT(LAYER_GROUPS));
}

static int take_mounts(const char *from, const char *to, struct receipt *r, enum layer *layer)
{
	static struct jail_spec spec;
	char buf[2048];
	struct err err;

	memset(r, 0, sizeof(*r));
	spec.mount_count = 1;
	return receipt_take_mounts(changed(good_mounts, from, to, buf), &spec, r, layer, &err);
}

static void good_mounts_are_taken(void **state)
{
	struct receipt r;
	enum layer layer;

	(void)state;
	assert_int_equal(take_mounts("", "", &r, &layer), 0);
	assert_int_equal(r.mounts, 4);
	assert_true(r.root_read_only);
}

static void each_wrong_mount_is_refused(void **state)
{
	static const struct {
		const char *from, *to;
	} wrong[] = {
		{ "/ ro,nosuid", "/ rw,nosuid" },
		{ "/usr/lib ro,", "/usr/lib rw," },
		{ "/dev/null ro,", "/dev/null rw," },
		{ "/ ro,nosuid,", "/ ro," },
		{ "/tmp rw,nosuid,", "/tmp rw," },
		{ "/tmp rw,nosuid,nodev,", "/tmp rw,nosuid," },
		{ "/usr/lib ro,nosuid,nodev", "/usr/lib ro,nosuid" },
		{ "relatime - ext4", "relatime shared:7 - ext4" },
		{ "/ / ro", "/ /x ro" },
		{ " - tmpfs", " tmpfs" },
		{ "/ /tmp rw", "/ /home rw" },
	};
	struct receipt r;
	enum layer layer;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		layer = LAYER_COUNT;
		assert_true(take_mounts(wrong[i].from, wrong[i].to, &r, &layer) < 0);
		assert_int_equal(layer, LAYER_MOUNT);
	}
}

static void a_mount_too_many_is_refused(void **state)
{
	char text[4096] = "", line[100];
	struct receipt r = { 0 };
	static struct jail_spec spec;
	enum layer layer;
	struct err err;

	(void)state;
	strcat(text, good_mounts);
	for (int i = 0; i < 6; i++) {
		snprintf(line, sizeof(line), "%d 92 0:9 / /m%d ro,nosuid,nodev - tmpfs none rw\n", 200 + i, i);
		strcat(text, line);
	}
	assert_true(receipt_take_mounts(text, &spec, &r, &layer, &err) < 0);
	assert_int_equal(layer, LAYER_MOUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_status_is_taken),
		cmocka_unit_test(each_wrong_fact_names_its_layer),
		cmocka_unit_test(the_id_of_another_slot_is_refused),
		cmocka_unit_test(a_shared_namespace_is_refused_or_reported),
		cmocka_unit_test(groups_left_to_an_ordinary_user_are_reported),
		cmocka_unit_test(good_mounts_are_taken),
		cmocka_unit_test(each_wrong_mount_is_refused),
		cmocka_unit_test(a_mount_too_many_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
