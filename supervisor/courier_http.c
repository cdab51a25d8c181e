/* POSTs to the configured URLs, by libcurl: bounded in time and bytes, redirects not followed, no proxy, no cookie, no file. */
#include "supervisor/courier_impl.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of an answer; nothing in them is used. */
#define HEADERS_MAX (64u << 10)
/* Between two looks at what libcurl's clocks want. */
#define WAIT_MS 1000

struct post {
	CURL *easy; /* NULL: free */
	struct curl_slist *headers;
	uint32_t id;
	size_t len, header_bytes;
	bool large;
	char body[COURIER_BODY_MAX];
};

static CURLM *multi;
static char url[COURIER_ENDPOINTS][CONFIG_URL_MAX];
static struct post posts[COURIER_OPEN_MAX];

int courier_http_open(const struct courier_boot *boot)
{
	memcpy(url, boot->url, sizeof(url));
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(multi = curl_multi_init()))
		return -ENOMEM;
	/* The certificates' store and the random numbers are set up by the first use: here, while files may still be opened by whoever loads them. */
	CURL *warm = curl_easy_init();
	if (!warm)
		return -ENOMEM;
	curl_easy_cleanup(warm);
	return 0;
}

static void say(uint32_t id, int code, long status, const char *why, const char *body, size_t len)
{
	struct courier_answer a = { .magic = COURIER_MAGIC, .id = id, .err = code, .status = (uint32_t)status, .body_len = (uint32_t)len };

	snprintf(a.why, sizeof(a.why), "%s", why);
	courier_say(&a, body);
}

static void release(struct post *p)
{
	(void)curl_multi_remove_handle(multi, p->easy);
	curl_easy_cleanup(p->easy);
	curl_slist_free_all(p->headers);
	p->easy = NULL;
	p->headers = NULL;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct post *p = arg;

	n *= size;
	p->large |= n > sizeof(p->body) - p->len;
	if (p->large)
		return 0; /* ends it */
	memcpy(p->body + p->len, bytes, n);
	p->len += n;
	return n;
}

static size_t on_header(char *bytes UNUSED, size_t size, size_t n, void *arg)
{
	struct post *p = arg;

	p->header_bytes += n * size;
	p->large |= p->header_bytes > HEADERS_MAX;
	return p->large ? 0 : n * size;
}

static bool header_add(struct post *p, const char *text)
{
	struct curl_slist *more = curl_slist_append(p->headers, text);

	if (more)
		p->headers = more;
	return more != NULL;
}

static bool headers_set(struct post *p)
{
	/* Expect: a second round trip for nothing. */
	return header_add(p, "Content-Type: application/json") && header_add(p, "Expect:");
}

#define SET(option, value) (curl_easy_setopt(p->easy, (option), (value)) == CURLE_OK)

static bool options_set(struct post *p, const struct courier_ask *ask, const char *body)
{
	return SET(CURLOPT_URL, url[ask->endpoint]) && SET(CURLOPT_PROTOCOLS_STR, "http,https") && SET(CURLOPT_FOLLOWLOCATION, 0L) &&
	       SET(CURLOPT_PROXY, "") && SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) && SET(CURLOPT_NOSIGNAL, 1L) &&
	       SET(CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms) && SET(CURLOPT_CONNECTTIMEOUT_MS, (long)ask->timeout_ms) &&
	       SET(CURLOPT_SSL_VERIFYPEER, 1L) && SET(CURLOPT_SSL_VERIFYHOST, 2L) && SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) &&
	       SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(CURLOPT_USERAGENT, "brig") && SET(CURLOPT_HTTPHEADER, p->headers) &&
	       SET(CURLOPT_POSTFIELDSIZE, (long)ask->body_len) && SET(CURLOPT_COPYPOSTFIELDS, body) && SET(CURLOPT_WRITEFUNCTION, on_body) &&
	       SET(CURLOPT_WRITEDATA, p) && SET(CURLOPT_HEADERFUNCTION, on_header) && SET(CURLOPT_HEADERDATA, p) && SET(CURLOPT_PRIVATE, p);
}

void courier_post(const struct courier_ask *ask, const char *body)
{
	struct post *p = NULL;

	for (unsigned i = 0; !p && i < COURIER_OPEN_MAX; i++)
		if (!posts[i].easy)
			p = &posts[i];
	if (!p || !url[ask->endpoint][0]) {
		say(ask->id, p ? ENOENT : EBUSY, 0, p ? "nobody is configured there" : "too much is under way", "", 0);
		return;
	}
	p->id = ask->id;
	p->len = p->header_bytes = 0;
	p->large = false;
	p->easy = curl_easy_init();
	if (p->easy && headers_set(p) && options_set(p, ask, body) && curl_multi_add_handle(multi, p->easy) == CURLM_OK)
		return;
	say(ask->id, ENOMEM, 0, "no memory", "", 0);
	if (p->easy)
		release(p);
}

static void ended(struct post *p, CURLcode code)
{
	long status = 0;

	(void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK)
		say(p->id, 0, status, "", p->body, p->len);
	else if (p->large)
		say(p->id, EMSGSIZE, 0, "the answer is too large", "", 0);
	else
		say(p->id, code == CURLE_OPERATION_TIMEDOUT ? ETIMEDOUT : ECOMM, 0, curl_easy_strerror(code), "", 0);
	release(p);
}

void courier_wait(struct curl_waitfd *fds, unsigned count)
{
	int running, left;

	(void)curl_multi_poll(multi, fds, count, WAIT_MS, NULL);
	(void)curl_multi_perform(multi, &running);
	for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
		struct post *p = NULL;

		if (m->msg == CURLMSG_DONE && curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &p) == CURLE_OK && p)
			ended(p, m->data.result);
	}
}

void courier_forget(void)
{
	for (unsigned i = 0; i < COURIER_OPEN_MAX; i++)
		if (posts[i].easy)
			release(&posts[i]);
}
