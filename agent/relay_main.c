/* brig-relay: what 'brig relay' starts. */
#include "agent/relay.h"

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

#define OPT(field) offsetof(struct options, field)

static int run(const struct options *opt);

static const struct option options[] = {
	{ "--webhook", "URL", "where open questions are posted", OPT(webhook) },
	{ "--listen", "HOST:PORT", "take signed answers there, on this host alone", OPT(listen) },
	{ "--key", "FILE", "the key that signs both ways; yours alone to read", OPT(key) },
	{ "--socket", "PATH", "the admin.sock of that daemon and no other", OPT(socket) },
	{ 0 },
};

static const struct verb verb = { "relay", "", "carry approvals to a webhook, and signed answers back", options, NULL,
				  "The key has 16 to 4096 bytes. Without --webhook nothing is posted, without\n"
				  "--listen no answers are taken. Runs until it is stopped.",
				  "brig relay --key /etc/brig/relay.key --webhook https://ops.example/brig \\\n      --listen 127.0.0.1:8099", 0, 0, run };

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
	struct options opt;
	struct err err = { 0 };

	if (options_parse(&verb, argc - 1, argv + 1, &opt, &err) < 0) {
		struct show s = { .out = stdout, .err = stderr };

		return show_end(&s, show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err));
	}
	if (opt.help) {
		options_help(&verb, stdout);
		return 0;
	}
	return run(&opt);
}
