/* brig-mcp: what 'brig mcp' starts. One message a line on standard input and output, nothing else ever on the latter; ends when the
 * former does, and all jails with it. */
#include "agent/mcp/mcp.h"

#include "agent/programs.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "jail/base/fd.h"
#include "jail/base/limits.h"

#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Answers that the client does not read; beyond it, it has gone in all but name. */
#define UNREAD_MAX (64u << 20)

struct pipe_end {
	struct event_base *base;
	struct event *in, *out, *stop;
	struct evbuffer *read, *write;
	int out_fd;
	bool skipping; /* what is left of a line that was too long */
	struct mcp mcp;
};

static void finish(struct pipe_end *p)
{
	event_base_loopbreak(p->base);
}

static void send_line(void *arg, const char *json, size_t len)
{
	struct pipe_end *p = arg;

	evbuffer_add(p->write, json, len);
	evbuffer_add(p->write, "\n", 1);
	event_add(p->out, NULL);
	if (evbuffer_get_length(p->write) > UNREAD_MAX)
		finish(p);
}

/* A pipe that poll(2) calls writable takes PIPE_BUF bytes without waiting, whether or not it is set to block, which is its owner's to say. */
static void on_writable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct pipe_end *p = arg;
	int n = evbuffer_write_atmost(p->write, fd, PIPE_BUF);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		finish(p);
	else if (evbuffer_get_length(p->write) > 0)
		event_add(p->out, NULL);
}

static void on_line(struct pipe_end *p, const char *line, size_t len)
{
	struct mcp_message msg;

	if (strspn(line, " \t\r") == len)
		return;
	mcp_message_read(line, len, &msg);
	mcp_receive(&p->mcp, &msg);
}

static void on_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct pipe_end *p = arg;
	int n = evbuffer_read(p->read, fd, 1 << 16);
	size_t len;

	for (;;) {
		_cleanup_free_ char *line = evbuffer_readln(p->read, &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		if (p->skipping)
			p->skipping = false;
		else
			on_line(p, line, len);
	}
	if (evbuffer_get_length(p->read) > LIMIT_FRAME_BYTES) {
		if (!p->skipping)
			mcp_error(&p->mcp, NULL, 0, -32600, "the line is too long", NULL);
		p->skipping = true;
		evbuffer_drain(p->read, evbuffer_get_length(p->read));
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		finish(p);
}

static void on_stop(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	finish(arg);
}

static void on_link_event(void *arg, const char *method, const char *params UNUSED, size_t len UNUSED)
{
	if (strcmp(method, "tools.changed") == 0)
		mcp_tools_changed(arg);
}

/* Also after brigd came back: what changed meanwhile is not known, so the client looks again. */
static void on_link_up(void *arg)
{
	static const char params[] = "{\"events\":[\"tools\"]}";
	struct mcp *m = arg;

	if (link_ask(m->link, "subscribe", params, sizeof(params) - 1, NULL, NULL, NULL) != 0)
		mcp_tools_changed(m);
}

static void on_link_down(void *arg UNUSED, const struct err *err)
{
	show_error(stderr, err);
}

/* Standard output is ours alone: whatever else writes to descriptor 1 goes to standard error. */
static int stdout_take(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	return fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ? -errno : fd;
}

/* epoll(7) takes no regular files, which standard input may be. */
static struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (!config)
		return NULL;
	event_config_avoid_method(config, "epoll");
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static bool pipe_open(struct pipe_end *p, int stop_fd)
{
	p->base = base_new();
	p->read = evbuffer_new();
	p->write = evbuffer_new();
	p->out_fd = stdout_take();
	if (!p->base || !p->read || !p->write || p->out_fd < 0)
		return false;
	p->in = event_new(p->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_readable, p);
	p->out = event_new(p->base, p->out_fd, EV_WRITE, on_writable, p);
	p->stop = event_new(p->base, stop_fd, EV_READ, on_stop, p);
	return p->in && p->out && p->stop && event_add(p->in, NULL) == 0 && event_add(p->stop, NULL) == 0;
}

static void pipe_close(struct pipe_end *p)
{
	struct event *events[] = { p->in, p->out, p->stop };

	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (events[i])
			event_free(events[i]);
	if (p->read)
		evbuffer_free(p->read);
	if (p->write)
		evbuffer_free(p->write);
	if (p->base)
		event_base_free(p->base);
}

static int run(const struct options *opt)
{
	struct pipe_end p = { .mcp = { .send = send_line, .send_arg = &p } };
	const struct link_hooks hooks = { on_link_event, on_link_up, on_link_down, &p.mcp };
	struct err err = { 0 };
	int stop_fd = stop_open();

	LIST_INIT(&p.mcp.requests);
	if (stop_fd < 0 || !pipe_open(&p, stop_fd) || !(p.mcp.link = link_new(p.base, CONNECT_ANY, opt, stop_fd, &hooks))) {
		err_set(&err, ERR_HOST, ENOMEM, "mcp", "no memory, or no descriptors");
		show_error(stderr, &err);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	/* Not there yet is no reason to end: it may come, and until then each call says so. */
	if (link_open(p.mcp.link, &err) < 0)
		show_error(stderr, &err);
	event_base_dispatch(p.base);
	mcp_done(&p.mcp);
	link_free(p.mcp.link);
	pipe_close(&p);
	return 0;
}

int main(int argc, char *argv[])
{
	static const struct program_run runs[] = { { "mcp", run }, { 0 } };

	return program_main(argc, argv, runs);
}
