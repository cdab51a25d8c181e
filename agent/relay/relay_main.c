/* brig-relay: what 'brig relay' starts. */
#include "agent/relay/relay.h"

#include "agent/programs.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "agent/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Shorter ones can be guessed. */
#define KEY_MIN 16u
#define KEY_MAX 4096u

/* A line feed at its end is an editor's, and no part of it. */
static int key_read(const char *path, struct bytes *ret, struct err *err)
{
	struct stat st;
	int r = file_read(path, KEY_MAX, ret, err);

	if (r < 0)
		return r;
	if (stat(path, &st) < 0 || (st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 0077)) {
		err_set(err, ERR_CALLER, EPERM, "--key", "others than you may read or write %.150s", path);
		err_hint(err, "chmod 600, and chown to yourself");
		return -EPERM;
	}
	while (ret->len > 0 && (ret->data[ret->len - 1] == '\n' || ret->data[ret->len - 1] == '\r'))
		ret->len--;
	if (ret->len >= KEY_MIN)
		return 0;
	err_set(err, ERR_CALLER, EINVAL, "--key", "the key has %zu bytes, and less than %u can be guessed", ret->len, KEY_MIN);
	err_hint(err, "head -c 32 /dev/urandom | base64 > FILE");
	return -EINVAL;
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static int serve(struct relay *r, struct err *err)
{
	struct event *stop = event_new(r->base, r->stop_fd, EV_READ, on_stop, r->base);
	int e = stop && event_add(stop, NULL) == 0 ? 0 : err_set(err, ERR_HOST, ENOMEM, "relay", "no memory");

	if (e == 0 && r->opt->listen)
		e = relay_serve_open(r, err);
	if (e == 0 && r->opt->webhook)
		e = relay_post_open(r, err);
	if (e == 0)
		event_base_dispatch(r->base);
	relay_post_close();
	relay_serve_close();
	if (stop)
		event_free(stop);
	return e;
}

static int run(const struct options *opt)
{
	struct relay r = { .opt = opt, .stop_fd = -1 };
	struct show s = { .out = stdout, .err = stderr };
	struct err err = { 0 };
	int e = 0;

	if (!opt->key || (!opt->webhook && !opt->listen)) {
		e = err_set(&err, ERR_CALLER, EINVAL, "command line", opt->key ? "neither --webhook nor --listen" : "no --key");
		err_hint(&err, "'brig relay --help' has an example");
	}
	if (e == 0 && opt->webhook && strncmp(opt->webhook, "http://", 7) != 0 && strncmp(opt->webhook, "https://", 8) != 0) {
		e = err_set(&err, ERR_CALLER, EINVAL, "command line", "--webhook takes a URL of http:// or https://");
		err_hint(&err, "'brig relay --help' has an example");
	}
	if (e == 0)
		e = key_read(opt->key, &r.key, &err);
	if (e == 0) {
		r.stop_fd = stop_open();
		r.base = event_base_new();
		(void)curl_global_init(CURL_GLOBAL_DEFAULT);
		e = r.base ? serve(&r, &err) : err_set(&err, ERR_HOST, ENOMEM, "relay", "no memory");
		event_base_free(r.base);
		curl_global_cleanup();
	}
	if (r.key.data)
		explicit_bzero(r.key.data, r.key.len);
	bytes_done(&r.key);
	return e < 0 ? show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err) : 0;
}

int main(int argc, char *argv[])
{
	static const struct program_run runs[] = { { "relay", run }, { 0 } };

	return program_main(argc, argv, runs);
}
