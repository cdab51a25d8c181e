/* Listening without descriptors: nobody is lost, nothing spins. In one process, with core's own server and no jail. */
#include "supervisor/client.h"
#include "supervisor/metrics.h"
#include "supervisor/server.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

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

static void ask(int fd)
{
	static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"list\"}\n";

	assert_int_equal(send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL), sizeof(line) - 1);
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
		ask(p->clients[i]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_descriptors_connections_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_leaves_is_counted_off, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
