#include "supervisor/signature.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds since 1970 have ten digits until 2286. */
#define SECONDS_DIGITS_MAX 12
#define HEX_LEN (2 * SHA256_DIGEST_LENGTH)

void hmac_begin(struct hmac *h, const void *key, size_t len)
{
	uint8_t block[SHA256_BLOCK_LENGTH] = { 0 };

	if (len > sizeof(block)) {
		SHA256Init(&h->inner);
		SHA256Update(&h->inner, key, len);
		SHA256Final(block, &h->inner);
	} else {
		memcpy(block, key, len);
	}
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	SHA256Init(&h->inner);
	SHA256Update(&h->inner, block, sizeof(block));
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	SHA256Init(&h->outer);
	SHA256Update(&h->outer, block, sizeof(block));
	explicit_bzero(block, sizeof(block));
}

void hmac_add(struct hmac *h, const void *bytes, size_t len)
{
	SHA256Update(&h->inner, bytes, len);
}

void hmac_end(struct hmac *h, uint8_t ret[SHA256_DIGEST_LENGTH])
{
	SHA256Final(ret, &h->inner);
	SHA256Update(&h->outer, ret, SHA256_DIGEST_LENGTH);
	SHA256Final(ret, &h->outer);
	explicit_bzero(h, sizeof(*h));
}

static void hex_over(const struct courier_key *key, const char *seconds, const char *body, size_t len, char ret[HEX_LEN + 1])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	struct hmac h;

	hmac_begin(&h, key->bytes, key->len);
	hmac_add(&h, seconds, strlen(seconds));
	hmac_add(&h, ".", 1);
	hmac_add(&h, body, len);
	hmac_end(&h, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void signature_make(const struct courier_key *key, int64_t now_s, const char *body, size_t len, char ret[COURIER_SIGNATURE_MAX])
{
	char seconds[24], hex[HEX_LEN + 1];

	snprintf(seconds, sizeof(seconds), "%" PRId64, now_s);
	hex_over(key, seconds, body, len, hex);
	snprintf(ret, COURIER_SIGNATURE_MAX, "t=%s,v1=%s", seconds, hex);
}

static bool same(const char *a, const char *b, size_t len)
{
	volatile unsigned char differ = 0;

	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

static int refused(struct err *err, int code, const char *what, const char *hint)
{
	err_set(err, ERR_CALLER, code, "signature", "%s", what);
	err_hint(err, "%s", hint);
	return -code;
}

int signature_check(const struct courier_key *key, const char *signature, size_t signature_len, const char *body, size_t len, int64_t now_s,
		    struct err *err)
{
	static const char form[] = "it is \"t=SECONDS,v1=HEX\", HEX the HMAC-SHA256 of \"SECONDS.PAYLOAD\" in 64 small digits";
	char seconds[SECONDS_DIGITS_MAX + 1], hex[HEX_LEN + 1];
	size_t digits = signature_len > 2 ? strspn(signature + 2, "0123456789") : 0;
	const char *rest = signature + 2 + digits;

	if (signature_len < 2 || strncmp(signature, "t=", 2) != 0 || digits == 0 || digits > SECONDS_DIGITS_MAX ||
	    signature_len != 2 + digits + 4 + HEX_LEN || strncmp(rest, ",v1=", 4) != 0 || strspn(rest + 4, "0123456789abcdef") != HEX_LEN)
		return refused(err, EINVAL, "the signature has not its form", form);
	snprintf(seconds, sizeof(seconds), "%.*s", (int)digits, signature + 2);
	hex_over(key, seconds, body, len, hex);
	if (!same(hex, rest + 4, HEX_LEN))
		return refused(err, EACCES, "the signature is not of our key over this payload", "nothing was changed; sign the very bytes that are sent");
	int64_t age = now_s - strtoll(seconds, NULL, 10);
	if (age > SIGNATURE_WINDOW_S || age < -SIGNATURE_WINDOW_S)
		return refused(err, ESTALE, age > 0 ? "the signature is older than 5 minutes: a replay, or one that was long under way" :
						      "the signature is from more than 5 minutes ahead",
			       "nothing was changed; sign it anew, and look at both clocks");
	return 0;
}
