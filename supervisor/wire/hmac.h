/* HMAC-SHA256 (RFC 2104, FIPS 198-1) over libmd's SHA-256. */
#ifndef BRIG_WIRE_HMAC_H
#define BRIG_WIRE_HMAC_H

#include <stdbool.h>
#include <stddef.h>

#define HMAC_HEX 64

/* Of the parts one after the other, as hex digits and a NUL. */
struct hmac_part {
	const void *bytes;
	size_t len;
};
void hmac_sha256(const void *key, size_t key_len, const struct hmac_part *parts, size_t count, char ret[HMAC_HEX + 1]);
/* Takes as long for a wrong one as for a right one. */
bool hmac_equal(const char a[HMAC_HEX + 1], const char b[HMAC_HEX + 1]);

#endif
