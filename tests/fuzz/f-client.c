/* A connection: whatever a client sends, in whatever pieces, each line that it gets is one JSON object, and nothing of it stays.
 * Core's own client and methods, without keeper and jails: it drains, so that a call ends as busy. */
#include "supervisor/client.h"
#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/pool.h"
#include "supervisor/profile_cache.h"
#include "supervisor/sched.h"

#include "jail/base/fd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS_MAX 10000
#define ANSWERS_MAX (8u << 20)

static struct core_boot boot = { .client_fd = -1, .agent_fd = -1, .admin_fd = -1, .keeper_fd = -1 };
static struct core core = { .boot = &boot, .draining = true, .next_seq = 1, .next_gen = 1 };
static char answers[ANSWERS_MAX];
static size_t answers_len;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void core_ready(void)
{
	struct err err;
	_cleanup_close_ int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	signal(SIGPIPE, SIG_IGN);
	(void)config_defaults(&boot.config, &err);
	boot.config.log_level = 0;
	log_level_set(0);
	must(dir >= 0 && profile_store_read(dir, "profiles", &boot.profiles, &err) == 0);
	core.base = event_base_new();
	core.profiles = profile_cache_new(boot.profiles);
	core.metrics = metrics_new(0);
	must(core.base && core.profiles && core.metrics && sched_open(&core) == 0 && pool_open(&core) == 0);
}

static void take_answers(int fd)
{
	ssize_t n;

	while (answers_len < sizeof(answers) && (n = recv(fd, answers + answers_len, sizeof(answers) - answers_len, MSG_DONTWAIT)) > 0)
		answers_len += (size_t)n;
}

static void check_answers(void)
{
	struct json_error err;
	char *at = answers, *end;

	while ((end = memchr(at, '\n', answers_len - (size_t)(at - answers)))) {
		must(json_check(at, (size_t)(end - at), JSON_OBJECT, 2 * LIMIT_JSON_DEPTH, &err) == 0);
		at = end + 1;
	}
}

/* The first byte chooses the socket and the size of the pieces, the rest is what the client sends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];
	struct err err;
	struct ucred cred = { .pid = 1, .uid = 1000, .gid = 1000 };

	if (size < 1)
		return 0;
	if (!core.base)
		core_ready();
	enum authority authority = data[0] & 1 ? AUTHORITY_ADMIN : AUTHORITY_AGENT;
	size_t piece = (size_t)1 << (data[0] >> 4), sent = 1;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	must(client_open(&core, pair[1], authority, &cred, NULL, &err) == 0);
	answers_len = 0;
	for (int round = 0; !LIST_EMPTY(&core.clients); round++) {
		must(round < ROUNDS_MAX);
		size_t n = size - sent < piece ? size - sent : piece;
		ssize_t done = n ? send(pair[0], data + sent, n, MSG_NOSIGNAL) : 0;
		sent += done > 0 ? (size_t)done : 0;
		if (sent == size)
			(void)shutdown(pair[0], SHUT_WR);
		event_base_loop(core.base, EVLOOP_NONBLOCK);
		take_answers(pair[0]);
	}
	take_answers(pair[0]);
	check_answers();
	close(pair[0]);
	must(LIST_EMPTY(&core.calls));
	core.draining = true; /* an operator's word may have ended it */
	return 0;
}
