#include "agent/relay/relay.h"

#include "agent/call.h"
#include "agent/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A daemon that answers nothing for so long hangs. */
#define ASK_MS 10000

void relay_say(const char *fmt, ...)
{
	va_list ap;

	fputs("brig-relay: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void sign(const struct relay *r, const char *seconds, const char *body, size_t len, char ret[HMAC_HEX + 1])
{
	const struct hmac_part parts[] = { { seconds, strlen(seconds) }, { ".", 1 }, { body, len } };

	hmac_sha256(r->key.data, r->key.len, parts, 3, ret);
}

void relay_sign(const struct relay *r, time_t now, const char *body, size_t len, char ret[RELAY_HEADER_MAX])
{
	char seconds[24], hex[HMAC_HEX + 1];

	snprintf(seconds, sizeof(seconds), "%lld", (long long)now);
	sign(r, seconds, body, len, hex);
	snprintf(ret, RELAY_HEADER_MAX, "t=%s,v1=%s", seconds, hex);
}

const char *relay_verify(const struct relay *r, time_t now, const char *header, const char *body, size_t len, char ret_hex[HMAC_HEX + 1])
{
	char seconds[16], want[HMAC_HEX + 1];
	size_t digits, hex;

	if (!header)
		return "it is not signed: no " RELAY_SIGNATURE;
	digits = strncmp(header, "t=", 2) == 0 ? strspn(header + 2, "0123456789") : 0;
	if (digits == 0 || digits >= sizeof(seconds) || strncmp(header + 2 + digits, ",v1=", 4) != 0)
		return RELAY_SIGNATURE " is not of the form t=SECONDS,v1=HEX";
	hex = strspn(header + digits + 6, "0123456789abcdef");
	if (hex != HMAC_HEX || header[digits + 6 + hex])
		return RELAY_SIGNATURE " is not of the form t=SECONDS,v1=HEX";
	snprintf(seconds, sizeof(seconds), "%.*s", (int)digits, header + 2);
	memcpy(ret_hex, header + digits + 6, HMAC_HEX);
	ret_hex[HMAC_HEX] = '\0';
	/* First the signature: whoever has not the key learns nothing of our clock. */
	sign(r, seconds, body, len, want);
	if (!hmac_equal(want, ret_hex))
		return "the signature is wrong";
	long long t = strtoll(seconds, NULL, 10); /* at most 15 digits, and nothing else */
	if (t < (long long)now - RELAY_WINDOW_S || t > (long long)now + RELAY_WINDOW_S)
		return "the signature is of another time";
	return NULL;
}

int relay_ask(const struct relay *r, const char *method, const char *params, size_t len, char **ret, struct err *err)
{
	_cleanup_(call_done) struct call c;

	call_make(&c, &(struct call_ask){ .method = method, .params = params, .params_len = len, .want = CONNECT_ADMIN, .opt = r->opt,
			      .stop_fd = r->stop_fd, .answer_ms = ASK_MS });
	if (c.end == CALL_RESULT) {
		*ret = strndup(c.result, c.result_len);
		return *ret ? 0 : err_set(err, ERR_HOST, ENOMEM, "relay", "no memory");
	}
	*err = c.err;
	/* It came to a decision before, or may not be decided by us: another time says the same. */
	return c.end == CALL_REFUSED || c.outcome == OUTCOME_DENIED ? -EINVAL : -EPIPE;
}
