/* Core's side of the audit log against an audit process that dies, or falls silent, at the worst moment. */
#include "supervisor/audit_client.h"
#include "supervisor/keeper_client.h"
#include "supervisor/metrics.h"

#include "jail/base/fd.h"
#include "tests/unit/unit.h"

#include <sys/socket.h>

static struct core_boot boot = { .client_fd = -1, .config.audit = true };
static struct core core;
static struct call call;
static int theirs = -1; /* audit's end of the newest pair */
static bool none;       /* the keeper has no audit process now */
static uint64_t now_ns;
static unsigned recorded, unrecorded;
static int unrecorded_code;

/* ---- what audit_client.c needs of the others ---- */

uint64_t core_now_ns(void)
{
	return now_ns;
}

int keeper_ask(int sock UNUSED, struct keeper_msg *msg, int fd UNUSED, struct keeper_reply *reply, int *ret_fds, unsigned max_fds UNUSED,
	       struct err *err UNUSED)
{
	int pair[2];

	assert_int_equal(msg->kind, KP_AUDIT);
	*reply = (struct keeper_reply){ .pid = 77 };
	if (none)
		return -EAGAIN;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	theirs = fd_close(theirs);
	*ret_fds = pair[0];
	theirs = pair[1];
	return 0;
}

void call_recorded(struct call *c UNUSED)
{
	recorded++;
}

void call_unrecorded(struct call *c UNUSED, const struct err *why)
{
	unrecorded++;
	unrecorded_code = why->code;
}

void metrics_restart(struct core *c UNUSED, const char *process UNUSED)
{
}

void audit_fill_begin(const struct call *c UNUSED, struct audit_record *r)
{
	*r = (struct audit_record){ .magic = AUDIT_MAGIC, .kind = AUDIT_BEGIN };
}

void audit_fill_end(const struct call *c UNUSED, struct audit_record *r)
{
	*r = (struct audit_record){ .magic = AUDIT_MAGIC, .kind = AUDIT_END };
}

/* ---- */

static int setup(void **state UNUSED)
{
	struct err err;

	core = (struct core){ .boot = &boot, .base = event_base_new() };
	call = (struct call){ .core = &core };
	recorded = unrecorded = 0;
	unrecorded_code = 0;
	none = false;
	now_ns = 1000000000;
	return audit_client_open(&core, &err);
}

static int teardown(void **state UNUSED)
{
	audit_client_close(&core);
	event_base_free(core.base);
	theirs = fd_close(theirs);
	return 0;
}

static void turn(void)
{
	event_base_loop(core.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void say(uint64_t number, int code)
{
	const struct audit_ack ack = { .magic = AUDIT_MAGIC, .err = code, .number = number };

	assert_int_equal(fd_send(theirs, &ack, sizeof(ack), NULL, 0), 0);
}

static uint64_t takes(void)
{
	struct audit_record r;

	assert_int_equal(recv(theirs, &r, sizeof(r), MSG_DONTWAIT), sizeof(r));
	return r.number;
}

static void begin(void)
{
	struct err err;

	assert_int_equal(audit_begin(&call, &err), 0);
}

static void a_decision_that_is_written_lets_the_call_run(void **state UNUSED)
{
	begin();
	assert_int_equal(takes(), 1);
	turn();
	assert_int_equal(recorded, 0);
	say(1, 0);
	turn();
	assert_int_equal(recorded, 1);
	assert_null(call.audit);
}

static void what_is_not_written_goes_to_the_next_process(void **state UNUSED)
{
	begin();
	none = true;
	theirs = fd_close(theirs);
	turn();
	turn();
	none = false;
	for (int i = 0; i < 100 && theirs < 0; i++)
		event_base_loop(core.base, EVLOOP_ONCE);
	assert_int_equal(takes(), 1);
	say(1, 0);
	turn();
	assert_int_equal(recorded, 1);
}

/* Or the next one, which finds a later record in the log, would have us believe that this one is there, too. */
static void a_refusal_counts_that_its_process_outlived_by_nothing(void **state UNUSED)
{
	begin();
	assert_int_equal(takes(), 1);
	assert_int_equal(audit_note(&core, AUDIT_DRAIN, 0, 0, NULL, NULL, "on"), 0); /* unread: the kernel resets the socket */
	say(1, ENOSPC);
	none = true;
	theirs = fd_close(theirs);
	turn();
	assert_int_equal(unrecorded, 1);
	assert_int_equal(unrecorded_code, ENOSPC);
	assert_int_equal(recorded, 0);
}

static void a_refusal_counts_although_we_find_its_process_dead_by_sending(void **state UNUSED)
{
	begin();
	assert_int_equal(takes(), 1);
	say(1, ENOSPC);
	none = true;
	theirs = fd_close(theirs);
	assert_int_equal(audit_note(&core, AUDIT_DRAIN, 0, 0, NULL, NULL, "on"), 0);
	turn();
	assert_int_equal(unrecorded, 1);
	assert_int_equal(unrecorded_code, ENOSPC);
}

/* Stopped, or on a disk that hangs: connected all the time, so the queue for it must not grow without end. */
static void a_silent_process_gets_no_more_records(void **state UNUSED)
{
	struct audit_health health;
	struct err err;

	begin();
	now_ns += 9000000000ull;
	begin();
	now_ns += 2000000000ull;
	assert_int_equal(audit_begin(&call, &err), -ETIMEDOUT);
	assert_int_equal(audit_note(&core, AUDIT_DRAIN, 0, 0, NULL, NULL, "on"), -ETIMEDOUT);
	audit_client_health(&core, &health);
	assert_int_equal(health.waiting, 2);
	say(2, 0);
	turn();
	begin();
}

/* The one that went away for long is another matter, and so is the reason that it gave before. */
static void a_silence_after_a_refusal_is_told_by_that(void **state UNUSED)
{
	struct err err;

	begin();
	begin();
	say(2, ENOSPC);
	turn();
	now_ns += 11000000000ull;
	assert_int_equal(audit_begin(&call, &err), -ENOSPC);
}

static void words_about_what_was_never_sent_end_the_connection(void **state UNUSED)
{
	struct audit_health health;

	begin();
	none = true;
	say(2, 0);
	turn();
	audit_client_health(&core, &health);
	assert_false(health.connected);
	assert_int_equal(recorded, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_decision_that_is_written_lets_the_call_run),
		TEST(what_is_not_written_goes_to_the_next_process),
		TEST(a_refusal_counts_that_its_process_outlived_by_nothing),
		TEST(a_refusal_counts_although_we_find_its_process_dead_by_sending),
		TEST(a_silent_process_gets_no_more_records),
		TEST(a_silence_after_a_refusal_is_told_by_that),
		TEST(words_about_what_was_never_sent_end_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
