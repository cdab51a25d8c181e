/* brig-courier: seals itself, then carries messages until its keeper or its core is gone. */
#include "jail/base/fd.h"
#include "supervisor/courier_impl.h"

#include <curl/curl.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int core_fd = -1;

static void say_ready(int code, const char *why)
{
	struct courier_ctl say = { .magic = COURIER_MAGIC, .kind = COURIER_READY, .err = code };

	snprintf(say.why, sizeof(say.why), "%s", why);
	(void)fd_send(COURIER_FD, &say, sizeof(say), NULL, 0);
}

void courier_say(const struct courier_answer *answer, const char *body)
{
	static char out[sizeof(*answer) + COURIER_BODY_MAX];

	if (core_fd < 0)
		return;
	memcpy(out, answer, sizeof(*answer));
	memcpy(out + sizeof(*answer), body, answer->body_len);
	/* A core that does not read for so long that its socket is full is being replaced. */
	if (send(core_fd, out, sizeof(*answer) + answer->body_len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		core_fd = fd_close(core_fd);
}

/* Files that the C library loads when it first looks for a host. */
static void resolver_load(void)
{
	struct addrinfo *found = NULL;

	if (getaddrinfo("localhost", "80", NULL, &found) == 0)
		freeaddrinfo(found);
}

static int prepare(const char **ret_what)
{
	struct courier_boot boot;

	*ret_what = "the keeper's first message";
	if (fd_recv(COURIER_FD, &boot, sizeof(boot), NULL, 0, NULL, 0) != 1 || boot.magic != COURIER_MAGIC)
		return -EPROTO;
	for (unsigned i = 0; i < COURIER_ENDPOINTS; i++)
		boot.url[i][CONFIG_URL_MAX - 1] = '\0';
	*ret_what = "what it was started with";
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -EPERM;
	resolver_load();
	*ret_what = "libcurl";
	int r = courier_http_open(&boot);
	return r < 0 ? r : courier_seal(&boot, ret_what);
}

static bool ask_is_sound(const struct courier_ask *ask, size_t came)
{
	return came >= sizeof(*ask) && ask->magic == COURIER_MAGIC && ask->body_len <= COURIER_BODY_MAX && came == sizeof(*ask) + ask->body_len &&
	       ask->endpoint < COURIER_ENDPOINTS && ask->timeout_ms >= COURIER_TIME_MIN_MS && ask->timeout_ms <= COURIER_TIME_MAX_MS;
}

static void core_read(void)
{
	static char in[sizeof(struct courier_ask) + COURIER_BODY_MAX + 1];
	struct courier_ask ask;
	ssize_t n = recv(core_fd, in, sizeof(in), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= (ssize_t)sizeof(ask))
		memcpy(&ask, in, sizeof(ask));
	if (n < (ssize_t)sizeof(ask) || !ask_is_sound(&ask, (size_t)n)) {
		core_fd = fd_close(core_fd);
		courier_forget();
		return;
	}
	courier_post(&ask, in + sizeof(ask));
}

/* False: the keeper is gone, or says what it may not. */
static bool keeper_read(void)
{
	struct courier_ctl msg;
	int fd = -1;
	int r = fd_recv(COURIER_FD, &msg, sizeof(msg), &fd, 1, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return true;
	if (r != 1 || msg.magic != COURIER_MAGIC || msg.kind != COURIER_CORE || fd < 0)
		return false;
	fd_close(core_fd);
	courier_forget();
	core_fd = fd;
	return true;
}

int main(void)
{
	const char *what = "";

	(void)prctl(PR_SET_NAME, "brigd: courier", 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	int r = prepare(&what);
	say_ready(r < 0 ? -r : 0, what);
	if (r < 0)
		return 1;
	for (;;) {
		struct curl_waitfd fds[] = { { .fd = COURIER_FD, .events = CURL_WAIT_POLLIN }, { .fd = core_fd, .events = CURL_WAIT_POLLIN } };

		courier_wait(fds, core_fd >= 0 ? 2 : 1);
		if (core_fd >= 0 && fds[1].revents)
			core_read();
		if (fds[0].revents && !keeper_read())
			return 0;
	}
}
