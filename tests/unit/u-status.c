/* Records of a starting jail: what die_at() says, what status_wait() takes. */
#include "jail/base/fd.h"
#include "jail/status.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static int sv[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv);
}

static int teardown(void **state)
{
	(void)state;
	close(sv[0]);
	close(sv[1]);
	return 0;
}

static void tell(enum status_kind kind, uint32_t magic, size_t len)
{
	struct status_rec rec = { .magic = magic, .kind = (uint16_t)kind, .degraded = 0x10 };

	assert_int_equal(send(sv[0], &rec, len, 0), len);
}

/* Runs child() in a process of its own; its exit status. */
static int in_child(void (*child)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		close(sv[0]);
		status_open(sv[1]);
		child();
		_exit(42);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void take(struct status_rec *rec)
{
	assert_int_equal(fd_recv(sv[0], rec, sizeof(*rec), NULL, 0, NULL, MSG_DONTWAIT), 1);
	assert_int_equal(rec->magic, STATUS_MAGIC);
}

static void child_dies(void)
{
	stage_enter(STAGE_MOUNT);
	die_at(LAYER_PROC, "fsmount proc", 13);
}

static void die_at_names_stage_layer_call_and_errno(void **state)
{
	struct status_rec rec;

	(void)state;
	assert_int_equal(in_child(child_dies), 6);
	take(&rec);
	assert_int_equal(rec.kind, STATUS_FAILED);
	assert_int_equal(rec.stage, STAGE_MOUNT);
	assert_int_equal(rec.layer, LAYER_PROC);
	assert_int_equal(rec.err, 13);
	assert_int_equal(rec.listener_fd, -1);
	assert_string_equal(rec.op, "fsmount proc");
}

static void child_dies_long(void)
{
	die_at(LAYER_FDS, "a name of a call that is much longer than the record has room for", 1);
}

static void a_long_name_is_cut_and_terminated(void **state)
{
	struct status_rec rec;

	(void)state;
	assert_int_equal(in_child(child_dies_long), 6);
	take(&rec);
	assert_int_equal(strnlen(rec.op, sizeof(rec.op)), STATUS_OP_MAX - 1);
}

static void child_waits(void)
{
	stage_enter(STAGE_GO);
	_exit(status_wait(STATUS_GO) == 0x10 ? 0 : 1);
}

static void wait_takes_the_record_it_waits_for(void **state)
{
	(void)state;
	tell(STATUS_GO, STATUS_MAGIC, sizeof(struct status_rec));
	assert_int_equal(in_child(child_waits), 0);
}

static void wait_refuses_every_other_record(void **state)
{
	static const struct {
		enum status_kind kind;
		uint32_t magic;
		size_t len;
	} wrong[] = {
		{ STATUS_PARK, STATUS_MAGIC, sizeof(struct status_rec) },
		{ STATUS_GO, STATUS_MAGIC + 1, sizeof(struct status_rec) },
		{ STATUS_GO, STATUS_MAGIC, sizeof(struct status_rec) - 1 },
	};
	struct status_rec rec;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		tell(wrong[i].kind, wrong[i].magic, wrong[i].len);
		assert_int_equal(in_child(child_waits), 6);
		take(&rec);
		assert_int_equal(rec.kind, STATUS_FAILED);
		assert_int_equal(rec.stage, STAGE_GO);
	}
}

static void wait_ends_when_core_is_gone(void **state)
{
	(void)state;
	shutdown(sv[0], SHUT_WR);
	assert_int_equal(in_child(child_waits), 6);
}

static void child_times(void)
{
	struct status_rec rec = { .kind = STATUS_PARKED };
	struct timespec nap = { .tv_nsec = 2000000 };

	stage_enter(STAGE_NAMES);
	nanosleep(&nap, NULL);
	stage_enter(STAGE_PARK);
	_exit(status_send(&rec) < 0);
}

static void time_is_booked_to_the_stage_that_spent_it(void **state)
{
	struct status_rec rec;

	(void)state;
	assert_int_equal(in_child(child_times), 0);
	take(&rec);
	assert_true(rec.stage_ns[STAGE_NAMES] >= 2000000);
	assert_true(rec.stage_ns[STAGE_MOUNT] == 0);
}

static void child_sends_into_nothing(void)
{
	struct status_rec rec = { .kind = STATUS_PARKED };

	status_close();
	_exit(status_send(&rec) < 0 ? 0 : 1);
}

static void a_closed_socket_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(in_child(child_sends_into_nothing), 0);
}

static void every_stage_has_a_name_and_a_layer(void **state)
{
	(void)state;
	for (int i = 0; i < STAGE_COUNT; i++) {
		assert_non_null(stage_name((enum stage)i));
		assert_true(stage_layer((enum stage)i) < LAYER_COUNT);
	}
	assert_string_equal(stage_name(STAGE_COUNT), "unknown");
	assert_int_equal(stage_layer(STAGE_MOUNT), LAYER_MOUNT);
	assert_int_equal(stage_layer(STAGE_SECCOMP), LAYER_SECCOMP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(die_at_names_stage_layer_call_and_errno),
		TEST(a_long_name_is_cut_and_terminated),
		TEST(wait_takes_the_record_it_waits_for),
		TEST(wait_refuses_every_other_record),
		TEST(wait_ends_when_core_is_gone),
		TEST(time_is_booked_to_the_stage_that_spent_it),
		TEST(a_closed_socket_is_an_error),
		TEST(every_stage_has_a_name_and_a_layer),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
