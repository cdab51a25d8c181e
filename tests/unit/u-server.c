/* Core's own server and clients in one process, with no jail: what hangs on the order and the number of turns, not on time. */
#include "supervisor/client.h"
#include "supervisor/metrics.h"
#include "supervisor/server.h"

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define CLIENTS 5
#define LOOK_MS 400

struct place {
	struct core_boot boot;
	struct core core;
	char dir[32];
	int clients[CLIENTS];
};

static int listening(const char *dir, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	assert_return_code(bind(fd, (struct sockaddr *)&at, sizeof(at)), errno);
	assert_return_code(listen(fd, 64), errno);
	return fd;
}

static int connected(const char *dir, const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", dir, name);
	assert_return_code(connect(fd, (struct sockaddr *)&at, sizeof(at)), errno);
	return fd;
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct err err;

	signal(SIGPIPE, SIG_IGN); /* as core does */
	strcpy(p->dir, "/tmp/brig-u-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void)config_defaults(&p->boot.config, &err);
	p->boot.client_fd = p->boot.keeper_fd = -1;
	p->boot.agent_fd = listening(p->dir, "agent.sock");
	p->boot.admin_fd = listening(p->dir, "admin.sock");
	p->core.boot = &p->boot;
	p->core.base = event_base_new();
	p->core.metrics = metrics_new(0);
	assert_return_code(server_open(&p->core, &err), errno);
	for (int i = 0; i < CLIENTS; i++)
		p->clients[i] = -1;
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char path[64];

	for (int i = 0; i < CLIENTS; i++)
		fd_close(p->clients[i]);
	server_close(&p->core);
	metrics_free(p->core.metrics);
	event_base_free(p->core.base);
	fd_close(p->boot.agent_fd);
	fd_close(p->boot.admin_fd);
	snprintf(path, sizeof(path), "%s/agent.sock", p->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/admin.sock", p->dir);
	unlink(path);
	rmdir(p->dir);
	free(p);
	return 0;
}

static void loop_for(struct core *core, unsigned ms)
{
	const struct timeval tv = { .tv_usec = (suseconds_t)ms * 1000 };

	event_base_loopexit(core->base, &tv);
	event_base_dispatch(core->base);
}

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* In one message: the kernel counts a small one as a large one, and many would not fit. */
static void ask(int fd, unsigned times)
{
	static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"list\"}\n";
	static char lines[500 * (sizeof(line) - 1)];
	size_t len = times * (sizeof(line) - 1);

	assert_true(len <= sizeof(lines));
	for (unsigned i = 0; i < times; i++)
		memcpy(lines + i * (sizeof(line) - 1), line, sizeof(line) - 1);
	assert_int_equal(send(fd, lines, len, MSG_NOSIGNAL), len);
}

static bool answered(int fd)
{
	char got[200] = "";

	return recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT) > 0 && strstr(got, "\"id\":7,\"result\":{\"calls\":[]}");
}

static void without_descriptors_connections_wait(void **state)
{
	struct place *p = *state;
	struct rlimit usual, none;

	for (int i = 0; i < CLIENTS; i++) {
		p->clients[i] = connected(p->dir, "agent.sock");
		ask(p->clients[i], 1);
	}
	getrlimit(RLIMIT_NOFILE, &usual);
	none = usual;
	none.rlim_cur = (rlim_t)p->clients[CLIENTS - 1]; /* no number below it is free */
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	double before = cpu_ms();
	loop_for(&p->core, LOOK_MS);
	double spent = cpu_ms() - before;
	setrlimit(RLIMIT_NOFILE, &usual);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT), 0);
	assert_true(spent < LOOK_MS / 4.0); /* a loop that spins takes all of it */
	loop_for(&p->core, LOOK_MS);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT), CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		assert_true(answered(p->clients[i]));
}

static void who_leaves_is_counted_off(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < CLIENTS; i++)
		p->clients[i] = connected(p->dir, i % 2 ? "admin.sock" : "agent.sock");
	loop_for(&p->core, 50);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT), 3);
	assert_int_equal(client_count(&p->core, AUTHORITY_ADMIN), 2);
	for (int i = 0; i < CLIENTS; i++)
		p->clients[i] = fd_close(p->clients[i]);
	loop_for(&p->core, 50);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT) + client_count(&p->core, AUTHORITY_ADMIN), 0);
}

static unsigned lines_in(int fd)
{
	static char got[64 << 10];
	unsigned lines = 0;
	ssize_t n;

	while ((n = recv(fd, got, sizeof(got), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += got[i] == '\n';
	return lines;
}

/* What one client sent before takes no more of core than its turns until the next client is served. */
static void many_lines_of_one_wait_for_one_of_another(void **state)
{
	struct place *p = *state;
	unsigned many = 0, rounds = 0;
	int flood = p->clients[0] = connected(p->dir, "agent.sock"), other = p->clients[1] = connected(p->dir, "agent.sock");

	loop_for(&p->core, 20);
	ask(flood, 500);
	ask(other, 1);
	while (!answered(other) && rounds++ < 100)
		event_base_loop(p->core.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	many = lines_in(flood);
	assert_in_range(many, 0, 50);
	for (rounds = 0; many < 500 && rounds < 100; rounds++) {
		loop_for(&p->core, 10);
		many += lines_in(flood);
	}
	assert_int_equal(many, 500);
}

static void a_line_without_end_is_refused_while_it_comes(void **state)
{
	struct place *p = *state;
	static char part[1 << 20], got[4096];
	int fd = p->clients[0] = connected(p->dir, "agent.sock");
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		memset(part, 'x', sizeof(part));
		for (unsigned sent = 0; sent < LIMIT_FRAME_BYTES + 2 * sizeof(part); sent += sizeof(part))
			(void)!write(fd, part, sizeof(part));
		_exit(0);
	}
	bool writes = true; /* what comes after the refusal must be read too, or the writer never ends */
	ssize_t n = 0;
	for (int i = 0; i < 1000 && (n <= 0 || writes); i++) {
		loop_for(&p->core, 20);
		if (n <= 0)
			n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
		writes = writes && waitpid(pid, NULL, WNOHANG) == 0;
	}
	if (writes) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	assert_false(writes);
	assert_true(n > 0);
	assert_non_null(strstr(got, "too long"));
	assert_null(strchr(strchr(got, '\n') + 1, '\n')); /* once */
}

/* The answer of a call, to a client that has shut down its sending side, is the last thing on the connection. */
static void the_last_answer_closes_at_once(void **state)
{
	struct place *p = *state;
	int fd = p->clients[0] = connected(p->dir, "agent.sock");
	struct pending *pending;
	struct jbuf b;
	char got[100];

	loop_for(&p->core, 20);
	pending = pending_new(LIST_FIRST(&p->core.clients), "1", 1);
	shutdown(fd, SHUT_WR);
	loop_for(&p->core, 50);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT), 1);
	jbuf_init(&b, 100);
	jbuf_text(&b, "{}");
	pending_answer(pending, &b);
	jbuf_done(&b);
	loop_for(&p->core, 20);
	assert_int_equal(client_count(&p->core, AUTHORITY_AGENT), 0);
	assert_int_equal(recv(fd, got, sizeof(got), 0), strlen("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"));
	assert_int_equal(recv(fd, got, sizeof(got), 0), 0);
}

/* What was said when core ends goes out, to one who reads late too. */
static void the_end_waits_for_a_slow_reader(void **state)
{
	struct place *p = *state;
	static char text[(900 << 10) + 2];
	int fd = p->clients[0] = connected(p->dir, "agent.sock"), status;
	pid_t pid;

	memset(text, 'x', sizeof(text));
	text[0] = text[sizeof(text) - 1] = '"';
	loop_for(&p->core, 20);
	assert_true(client_notify(LIST_FIRST(&p->core.clients), "output", text, sizeof(text)));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		size_t all = 0;
		ssize_t n;
		char got[4096];

		for (int i = STDERR_FILENO + 1; i < 64; i++)
			if (i != fd)
				close(i); /* the other end of the connection, which would never end */
		usleep(100000);
		while ((n = read(fd, got, sizeof(got))) > 0)
			all += (size_t)n;
		_exit(all > sizeof(text) ? 0 : 1);
	}
	p->clients[0] = fd_close(fd);
	server_close(&p->core);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_descriptors_connections_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_leaves_is_counted_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_lines_of_one_wait_for_one_of_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_line_without_end_is_refused_while_it_comes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_last_answer_closes_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_a_slow_reader, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
