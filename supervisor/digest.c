#include "supervisor/digest.h"

#include <stdint.h>
#include <string.h>

void digest_part(SHA2_CTX *sha, const void *bytes, size_t len)
{
	uint64_t n = bytes ? len : UINT64_MAX;

	SHA256Update(sha, (const uint8_t *)&n, sizeof(n));
	if (bytes)
		SHA256Update(sha, bytes, len);
}

void digest_end(SHA2_CTX *sha, char ret[DIGEST_MAX])
{
	static const char prefix[] = "sha256:";

	_Static_assert(sizeof(prefix) - 1 + SHA256_DIGEST_STRING_LENGTH == DIGEST_MAX, "SHA256End() writes to the last byte");
	memcpy(ret, prefix, sizeof(prefix) - 1);
	(void)SHA256End(sha, ret + sizeof(prefix) - 1);
}
