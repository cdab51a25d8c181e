/* Out: open questions to the webhook. Core says nothing of its own accord here: it is asked once a second, so that a
 * relay that was away, or a daemon that was, misses none. */
#include "agent/relay/relay.h"

#include "agent/text.h"
#include "jail/base/version.h"
#include "supervisor/wire/json.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_S 1
/* While one is posted nobody else is served. */
#define POST_MS 5000L
#define RETRY_MAX_S 60
/* More than all users together may have open at once, at the default of 16 each. */
#define KNOWN_MAX 1024
#define ID_MAX 40
#define BODY_MAX (4u << 20)

struct known {
	char id[ID_MAX];
	bool seen, sent; /* seen: in the last list */
	time_t next;
	unsigned tries;
};

static struct {
	struct relay *relay;
	struct event *timer;
	CURL *curl;
	struct known known[KNOWN_MAX];
	unsigned count;
	bool away; /* the daemon was, and that was said */
} g;

/* What the webhook answers is not for us. */
static size_t on_answer(char *bytes, size_t size, size_t n, void *arg)
{
	(void)bytes;
	(void)arg;
	return size * n;
}

/* 0, or an HTTP status that is no success, or a negative CURLcode. */
static long post(const char *body, size_t len)
{
	char header[RELAY_HEADER_MAX + sizeof(RELAY_SIGNATURE) + 4], signature[RELAY_HEADER_MAX];
	struct curl_slist *headers = NULL;
	long status = 0;

	relay_sign(g.relay, time(NULL), body, len, signature);
	snprintf(header, sizeof(header), RELAY_SIGNATURE ": %s", signature);
	headers = curl_slist_append(headers, "Content-Type: application/json");
	headers = curl_slist_append(headers, "Expect:");
	headers = curl_slist_append(headers, header);
	curl_easy_setopt(g.curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(g.curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(g.curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	CURLcode rc = curl_easy_perform(g.curl);
	curl_easy_getinfo(g.curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	if (rc != CURLE_OK)
		return -(long)rc;
	return status >= 200 && status < 300 ? 0 : status;
}

static void again(struct known *k, const char *why)
{
	unsigned wait = k->tries < 6 ? 1u << k->tries : RETRY_MAX_S;

	k->tries++;
	k->next = time(NULL) + (time_t)wait;
	relay_say("approval %.12s: %s; again in %u s", k->id, why, wait);
}

/* All that the one who decides has to see: arguments, body, permissions, rule. */
static void send_one(struct known *k)
{
	char params[ID_MAX + 16], why[96];
	_cleanup_free_ char *approval = NULL;
	struct err err = { 0 };
	struct jbuf b;

	snprintf(params, sizeof(params), "{\"id\":\"%s\"}", k->id);
	if (relay_ask(g.relay, "approval.get", params, strlen(params), &approval, &err) < 0) {
		again(k, err.detail);
		return;
	}
	jbuf_init(&b, BODY_MAX);
	jbuf_printf(&b, "{\"event\":\"approval.requested\",\"sent\":%lld,\"approval\":", (long long)time(NULL));
	jbuf_text(&b, approval);
	jbuf_text(&b, "}");
	long r = b.failed ? -(long)CURLE_OUT_OF_MEMORY : post(b.data, b.len);
	jbuf_done(&b);
	if (r == 0) {
		k->sent = true;
		relay_say("approval %.12s: sent", k->id);
		return;
	}
	if (r < 0)
		snprintf(why, sizeof(why), "the webhook cannot be reached: %s", curl_easy_strerror((CURLcode)-r));
	else
		snprintf(why, sizeof(why), "the webhook answers %ld", r);
	again(k, why);
}

static struct known *known_of(const char *id)
{
	for (unsigned i = 0; i < g.count; i++)
		if (strcmp(g.known[i].id, id) == 0)
			return &g.known[i];
	if (g.count == KNOWN_MAX)
		return NULL;
	struct known *k = &g.known[g.count++];
	*k = (struct known){ 0 };
	snprintf(k->id, sizeof(k->id), "%s", id);
	return k;
}

static bool id_ok(const char *id)
{
	return id && strlen(id) < ID_MAX && strspn(id, "0123456789abcdef") == strlen(id);
}

static void forget_gone(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < g.count; i++)
		if (g.known[i].seen)
			g.known[kept++] = g.known[i];
	g.count = kept;
}

static void look(const char *list)
{
	size_t len = strlen(list);
	time_t now = time(NULL);

	for (unsigned i = 0; i < g.count; i++)
		g.known[i].seen = false;
	for (unsigned n = 0; n < KNOWN_MAX; n++) {
		char path[32];
		snprintf(path, sizeof(path), "approvals.%u.id", n);
		_cleanup_free_ char *id = text_find(list, len, path, NULL);
		struct known *k = id_ok(id) ? known_of(id) : NULL;

		if (!id)
			break;
		if (k)
			k->seen = true;
	}
	forget_gone();
	for (unsigned i = 0; i < g.count; i++)
		if (!g.known[i].sent && g.known[i].next <= now)
			send_one(&g.known[i]);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	static const char pending[] = "{\"state\":\"pending\"}";
	_cleanup_free_ char *list = NULL;
	struct err err = { 0 };

	(void)fd;
	(void)what;
	(void)arg;
	if (relay_ask(g.relay, "approval.list", pending, sizeof(pending) - 1, &list, &err) == 0) {
		if (g.away)
			relay_say("the daemon is there again");
		g.away = false;
		look(list);
	} else if (!g.away) {
		relay_say("the daemon cannot be asked, which is tried again every second: %s", err.detail);
		g.away = true;
	}
}

int relay_post_open(struct relay *r, struct err *err)
{
	const struct timeval every = { .tv_sec = LOOK_S };

	g.relay = r;
	g.curl = curl_easy_init();
	g.timer = event_new(r->base, -1, EV_PERSIST, on_timer, NULL);
	if (!g.curl || !g.timer || event_add(g.timer, &every) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "relay", "no memory");
	curl_easy_setopt(g.curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(g.curl, CURLOPT_FOLLOWLOCATION, 0L); /* the key is for that place and no other */
	curl_easy_setopt(g.curl, CURLOPT_TIMEOUT_MS, POST_MS);
	curl_easy_setopt(g.curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(g.curl, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(g.curl, CURLOPT_MAXFILESIZE, 1L << 20);
	curl_easy_setopt(g.curl, CURLOPT_USERAGENT, "brig-relay/" BRIG_VERSION);
	if (curl_easy_setopt(g.curl, CURLOPT_URL, r->opt->webhook) != CURLE_OK)
		return err_set(err, ERR_CALLER, EINVAL, "--webhook", "no URL: %.200s", r->opt->webhook);
	on_timer(-1, 0, NULL);
	return 0;
}

void relay_post_close(void)
{
	if (g.timer)
		event_free(g.timer);
	if (g.curl)
		curl_easy_cleanup(g.curl);
}
