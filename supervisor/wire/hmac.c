#include "supervisor/wire/hmac.h"

#include <sha2.h>
#include <stdint.h>
#include <string.h>

static void key_settle(const void *key, size_t len, uint8_t ret[SHA256_BLOCK_LENGTH])
{
	SHA2_CTX sha;

	memset(ret, 0, SHA256_BLOCK_LENGTH);
	if (len <= SHA256_BLOCK_LENGTH) {
		memcpy(ret, key, len);
		return;
	}
	SHA256Init(&sha);
	SHA256Update(&sha, key, len);
	SHA256Final(ret, &sha);
}

static void begin(SHA2_CTX *sha, const uint8_t key[SHA256_BLOCK_LENGTH], uint8_t pad)
{
	uint8_t block[SHA256_BLOCK_LENGTH];

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = key[i] ^ pad;
	SHA256Init(sha);
	SHA256Update(sha, block, sizeof(block));
}

void hmac_sha256(const void *key, size_t key_len, const struct hmac_part *parts, size_t count, char ret[HMAC_HEX + 1])
{
	uint8_t settled[SHA256_BLOCK_LENGTH], digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX sha;

	key_settle(key, key_len, settled);
	begin(&sha, settled, 0x36);
	for (size_t i = 0; i < count; i++)
		SHA256Update(&sha, parts[i].bytes, parts[i].len);
	SHA256Final(digest, &sha);
	begin(&sha, settled, 0x5c);
	SHA256Update(&sha, digest, sizeof(digest));
	(void)SHA256End(&sha, ret);
	explicit_bzero(settled, sizeof(settled));
}

bool hmac_equal(const char a[HMAC_HEX + 1], const char b[HMAC_HEX + 1])
{
	unsigned char differ = 0;

	for (size_t i = 0; i <= HMAC_HEX; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}
