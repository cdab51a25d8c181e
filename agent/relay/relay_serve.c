/* In: POST /answer {"id", "approve", "reason"?, "uses"?, "for"?}, signed. On loopback: what is in front of it speaks TLS. */
#include "agent/relay/relay.h"

#include "agent/text.h"
#include "supervisor/wire/json.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>

/* Signatures that were taken, for as long as they could be used again; one more is refused when it is full. */
#define TAKEN_MAX 4096
#define HEADERS_MAX 8192
#define IDLE_S 10

struct taken {
	char hex[HMAC_HEX + 1];
	time_t until;
};

static struct {
	struct relay *relay;
	struct evhttp *http;
	struct taken taken[TAKEN_MAX];
	unsigned count;
} g;

static void answer(struct evhttp_request *rq, int status, const char *reason, const char *key, const char *text)
{
	struct evbuffer *out = evbuffer_new();
	struct jbuf b;

	jbuf_init(&b, 64u << 10);
	jbuf_printf(&b, "{\"%s\":", key);
	jbuf_cstring(&b, text);
	jbuf_text(&b, "}\n");
	if (out)
		evbuffer_add(out, b.data ? b.data : "", b.len);
	evhttp_add_header(evhttp_request_get_output_headers(rq), "Content-Type", "application/json");
	evhttp_send_reply(rq, status, reason, out);
	jbuf_done(&b);
	if (out)
		evbuffer_free(out);
}

static void refuse(struct evhttp_request *rq, int status, const char *reason, const char *why)
{
	relay_say("an answer was refused (%d): %s", status, why);
	answer(rq, status, reason, "error", why);
}

/* NULL: it is new, and taken from now on. */
static const char *take_once(const char *hex, time_t now)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < g.count; i++)
		if (g.taken[i].until >= now)
			g.taken[kept++] = g.taken[i];
	g.count = kept;
	for (unsigned i = 0; i < g.count; i++)
		if (hmac_equal(g.taken[i].hex, hex))
			return "this very message came before";
	if (g.count == TAKEN_MAX)
		return "too many answers in five minutes";
	memcpy(g.taken[g.count].hex, hex, HMAC_HEX + 1);
	g.taken[g.count++].until = now + 2 * RELAY_WINDOW_S;
	return NULL;
}

/* The members that an answer may have, and nothing else, as parameters of approval.decide. */
static const char *params_make(const char *body, size_t len, struct jbuf *b)
{
	static const char *const keys[] = { "id", "approve", "reason", "uses", "for" };
	struct json_error je;
	struct json_member m;
	size_t at;
	char sep = '{';

	if (json_check(body, len, JSON_OBJECT, 4, &je) < 0)
		return "the body is not one JSON object";
	at = strspn(body, " \t\r\n");
	while (json_member_next(body, len, &at, &m)) {
		size_t k = 0;

		while (k < ARRAY_LEN(keys) && (strlen(keys[k]) != m.key_len || memcmp(keys[k], body + m.key, m.key_len) != 0))
			k++;
		if (k == ARRAY_LEN(keys))
			return "the body has a member other than id, approve, reason, uses, for";
		jbuf_printf(b, "%c\"%s\":", sep, keys[k]);
		jbuf_raw(b, body + m.value, m.value_len);
		sep = ',';
	}
	jbuf_text(b, sep == '{' ? "{}" : "}");
	json_one_line(b->data, b->len);
	return b->failed ? "no memory" : NULL;
}

static void decide(struct evhttp_request *rq, const char *params, size_t len)
{
	_cleanup_free_ char *result = NULL;
	struct err err = { 0 };
	int r = relay_ask(g.relay, "approval.decide", params, len, &result, &err);
	_cleanup_free_ char *state = r == 0 ? text_find(result, strlen(result), "state", NULL) : NULL;

	if (r == -EINVAL) {
		refuse(rq, 409, "Conflict", err.detail);
	} else if (r < 0 || !state) {
		g.count--; /* it was not used: the same message may come again when the daemon is there */
		refuse(rq, 503, "Service Unavailable", r < 0 ? err.detail : "the daemon answers something else");
	} else {
		relay_say("an answer was taken: %s", state);
		answer(rq, 200, "OK", "state", state);
	}
}

static void on_request(struct evhttp_request *rq, void *arg)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(rq);
	size_t len = evbuffer_get_length(in);
	_cleanup_free_ char *body = malloc(len + 1);
	char hex[HMAC_HEX + 1];
	time_t now = time(NULL);
	const char *why;
	struct jbuf b;

	(void)arg;
	if (!body || evbuffer_copyout(in, body, len) != (ssize_t)len) {
		refuse(rq, 500, "Internal Server Error", "no memory");
		return;
	}
	body[len] = '\0';
	why = relay_verify(g.relay, now, evhttp_find_header(evhttp_request_get_input_headers(rq), RELAY_SIGNATURE), body, len, hex);
	if (why) {
		refuse(rq, 401, "Unauthorized", why);
		return;
	}
	jbuf_init(&b, 2 * RELAY_ANSWER_MAX);
	why = params_make(body, len, &b);
	if (why) {
		refuse(rq, 400, "Bad Request", why);
	} else {
		why = take_once(hex, now);
		if (why)
			refuse(rq, 409, "Conflict", why);
		else
			decide(rq, b.data, b.len);
	}
	jbuf_done(&b);
}

static void on_other(struct evhttp_request *rq, void *arg)
{
	(void)arg;
	answer(rq, 404, "Not Found", "error", "there is only POST /answer here");
}

/* HOST:PORT, HOST a number of this host alone. */
static int place_parse(const char *text, char host[64], uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *end;

	if (len == 0 || len >= 64 || !colon[1])
		return -EINVAL;
	snprintf(host, 64, "%.*s", (int)len, text);
	unsigned long port = strtoul(colon + 1, &end, 10);
	if (*end || port > 65535 || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	*ret_port = (uint16_t)port;
	if (strcmp(host, "[::1]") == 0)
		snprintf(host, 64, "::1");
	return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ? 0 : -EPERM;
}

int relay_serve_open(struct relay *r, struct err *err)
{
	char host[64];
	uint16_t port;
	int e = place_parse(r->opt->listen, host, &port);

	if (e < 0) {
		err_set(err, ERR_CALLER, -e, "--listen", e == -EPERM ? "%.100s is not of this host alone" : "%.100s is not HOST:PORT", r->opt->listen);
		err_hint(err, "such as 127.0.0.1:8099; what answers from elsewhere comes through a proxy of yours that speaks TLS");
		return e;
	}
	g.relay = r;
	g.http = evhttp_new(r->base);
	if (!g.http)
		return err_set(err, ERR_HOST, ENOMEM, "relay", "no memory");
	evhttp_set_allowed_methods(g.http, EVHTTP_REQ_POST);
	evhttp_set_max_body_size(g.http, RELAY_ANSWER_MAX);
	evhttp_set_max_headers_size(g.http, HEADERS_MAX);
	evhttp_set_timeout(g.http, IDLE_S);
	evhttp_set_gencb(g.http, on_other, NULL);
	if (evhttp_set_cb(g.http, "/answer", on_request, NULL) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "relay", "no memory");
	struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(g.http, host, port);
	if (!bound)
		return err_set(err, ERR_HOST, errno, "--listen", "cannot listen on %.100s: %s", r->opt->listen, strerror(errno));
	relay_say("answers are taken at http://%s/answer", r->opt->listen);
	return 0;
}

void relay_serve_close(void)
{
	if (g.http)
		evhttp_free(g.http);
}
