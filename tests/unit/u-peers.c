/* Accounts of uids: each limit at its edge, whatever else the uid holds, and nothing is left of an account that is empty. */
#include "supervisor/peers.h"

#include "tests/unit/unit.h"

#define A 1000
#define B 1001

static struct config config = { .connections_per_uid = 3, .calls_per_uid = 2, .queued_bytes_per_uid = 1000, .running_per_uid = 2 };

static struct peer *in(struct peers *ps, uid_t uid, enum peer_socket socket, const char *refused)
{
	const char *limit = "unset";
	struct peer *p = peer_connect(ps, uid, socket, &limit);

	if (refused) {
		assert_null(p);
		assert_string_equal(limit, refused);
	} else {
		assert_non_null(p);
		assert_null(limit);
	}
	return p;
}

static void connections_of_a_uid_are_bounded_on_each_socket(void **state)
{
	struct peers ps;
	struct peer *p = NULL;

	(void)state;
	peers_init(&ps, &config, 100);
	for (int i = 0; i < 3; i++)
		p = in(&ps, A, PEER_AGENT, NULL);
	in(&ps, A, PEER_AGENT, "connections_per_uid");
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(in(&ps, A, PEER_ADMIN, NULL), p);
	in(&ps, A, PEER_ADMIN, "connections_per_uid");
	struct peer *other = in(&ps, B, PEER_AGENT, NULL);
	assert_ptr_not_equal(other, p);
	peer_disconnect(p, PEER_AGENT);
	in(&ps, A, PEER_AGENT, NULL);
	for (int i = 0; i < 3; i++) {
		peer_disconnect(p, PEER_AGENT);
		peer_disconnect(p, PEER_ADMIN);
	}
	peer_disconnect(other, PEER_AGENT);
	assert_true(LIST_EMPTY(&ps.list));
	assert_int_equal(ps.connections[PEER_AGENT] + ps.connections[PEER_ADMIN], 0);
}

static void a_full_house_has_room_for_the_operator(void **state)
{
	struct peers ps;
	unsigned agents = 0;
	const char *limit;

	(void)state;
	for (uint32_t max = 2; max < 40; max++) {
		peers_init(&ps, &config, max);
		for (agents = 0; peer_connect(&ps, A + agents, PEER_AGENT, &limit); agents++)
			assert_true(agents < max);
		assert_string_equal(limit, "connections_max");
		assert_true(agents >= max / 2 && agents < max);
		assert_int_equal(max - agents, max > 16 ? PEERS_ADMIN_RESERVE : max / 2);
		for (uint32_t i = agents; i < max; i++)
			in(&ps, i, PEER_ADMIN, NULL);
		in(&ps, max, PEER_ADMIN, "connections_max");
		while (!LIST_EMPTY(&ps.list)) {
			struct peer *p = LIST_FIRST(&ps.list);

			peer_disconnect(p, peer_connections(p, PEER_AGENT) ? PEER_AGENT : PEER_ADMIN);
		}
	}
}

static void calls_are_bounded_and_outlive_their_connection(void **state)
{
	struct peers ps;

	(void)state;
	peers_init(&ps, &config, 100);
	struct peer *p = in(&ps, A, PEER_AGENT, NULL);
	peer_call_begin(p);
	assert_null(peer_call_room(p, 0, 0));
	peer_call_begin(p);
	assert_string_equal(peer_call_room(p, 0, 0), "calls_per_uid");
	peer_disconnect(p, PEER_AGENT);
	assert_false(LIST_EMPTY(&ps.list));
	assert_ptr_equal(in(&ps, A, PEER_AGENT, NULL), p);
	assert_string_equal(peer_call_room(p, 0, 0), "calls_per_uid");
	peer_call_end(p);
	assert_null(peer_call_room(p, 0, 0));
	peer_disconnect(p, PEER_AGENT);
	peer_call_end(p);
	assert_true(LIST_EMPTY(&ps.list));
}

static void bytes_are_bounded_whole_or_still_coming(void **state)
{
	struct peers ps;

	(void)state;
	peers_init(&ps, &config, 100);
	struct peer *p = in(&ps, A, PEER_AGENT, NULL);
	assert_true(peer_bytes_take(p, 600));
	assert_false(peer_bytes_take(p, 401));
	assert_true(peer_bytes_take(p, 400));
	assert_string_equal(peer_call_room(p, 1, 0), "queued_bytes_per_uid");
	/* The line that brings the call is not counted beside the call. */
	assert_null(peer_call_room(p, 400, 400));
	assert_string_equal(peer_call_room(p, 401, 400), "queued_bytes_per_uid");
	peer_bytes_give(p, 1000);
	assert_null(peer_call_room(p, 1000, 0));
	peer_disconnect(p, PEER_AGENT);
	assert_true(LIST_EMPTY(&ps.list));
}

static void nobody_has_an_account_without_limits(void **state)
{
	(void)state;
	peer_call_begin(NULL);
	assert_null(peer_call_room(NULL, SIZE_MAX, 0));
	assert_true(peer_bytes_take(NULL, SIZE_MAX));
	peer_bytes_add(NULL, 1);
	peer_bytes_give(NULL, 1);
	peer_call_end(NULL);
	peer_disconnect(NULL, PEER_AGENT);
	assert_int_equal(peer_connections(NULL, PEER_AGENT), 1);
}

static void running_calls_are_bounded(void **state)
{
	struct peers ps;

	(void)state;
	peers_init(&ps, &config, 100);
	struct peer *p = in(&ps, A, PEER_AGENT, NULL), *other = in(&ps, B, PEER_AGENT, NULL);
	for (int i = 0; i < 2; i++) {
		assert_true(peer_may_run(p));
		peer_run_begin(p);
	}
	assert_false(peer_may_run(p));
	assert_true(peer_may_run(other));
	peer_run_end(p);
	assert_true(peer_may_run(p));
	peer_run_end(p);
	assert_true(peer_may_run(NULL));
	peer_disconnect(p, PEER_AGENT);
	peer_disconnect(other, PEER_AGENT);
}

static void unread_answers_let_no_call_begin(void **state)
{
	struct peers ps;

	(void)state;
	peers_init(&ps, &config, 100);
	struct peer *p = in(&ps, A, PEER_AGENT, NULL);
	peer_unread_set(p, 0, 1000);
	assert_true(peer_may_run(p));
	peer_unread_set(p, 0, 1);
	assert_false(peer_may_run(p));
	assert_null(peer_call_room(p, 1000, 0)); /* it waits, but is not refused */
	peer_unread_set(p, 1000, 900);
	assert_true(peer_may_run(p));
	peer_unread_set(NULL, 1, 2);
	peer_disconnect(p, PEER_AGENT);
}

static void a_full_account_refuses_no_short_line(void **state)
{
	struct peers ps;

	(void)state;
	peers_init(&ps, &config, 100);
	struct peer *p = in(&ps, A, PEER_AGENT, NULL);
	peer_bytes_add(p, 1001);
	assert_true(peer_bytes_take(p, 0));
	assert_false(peer_bytes_take(p, 1));
	peer_bytes_give(p, 1001);
	peer_disconnect(p, PEER_AGENT);
	assert_true(LIST_EMPTY(&ps.list));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_of_a_uid_are_bounded_on_each_socket),
		cmocka_unit_test(a_full_house_has_room_for_the_operator),
		cmocka_unit_test(calls_are_bounded_and_outlive_their_connection),
		cmocka_unit_test(bytes_are_bounded_whole_or_still_coming),
		cmocka_unit_test(nobody_has_an_account_without_limits),
		cmocka_unit_test(running_calls_are_bounded),
		cmocka_unit_test(unread_answers_let_no_call_begin),
		cmocka_unit_test(a_full_account_refuses_no_short_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
