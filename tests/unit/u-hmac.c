/* RFC 4231, test cases 1 to 4, 6 and 7. */
#include "supervisor/wire/hmac.h"
#include "tests/unit/unit.h"

#include <string.h>

static void check(const void *key, size_t key_len, const void *text, size_t len, const char *want)
{
	const struct hmac_part whole = { text, len };
	char got[HMAC_HEX + 1];

	hmac_sha256(key, key_len, &whole, 1, got);
	assert_string_equal(got, want);
	for (size_t cut = 0; cut <= len; cut += 7) {
		const struct hmac_part parts[] = { { text, cut }, { (const char *)text + cut, len - cut } };
		hmac_sha256(key, key_len, parts, 2, got);
		assert_string_equal(got, want);
	}
}

static void the_vectors_of_the_rfc(void **state)
{
	static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	static const char larger[] = "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed "
				     "before being used by the HMAC algorithm.";
	unsigned char key[131], text[50];

	(void)state;
	memset(key, 0x0b, 20);
	check(key, 20, "Hi There", 8, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	check("Jefe", 4, "what do ya want for nothing?", 28, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	memset(text, 0xdd, sizeof(text));
	check(key, 20, text, 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	for (unsigned char i = 0; i < 25; i++)
		key[i] = i + 1;
	memset(text, 0xcd, sizeof(text));
	check(key, 25, text, 50, "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
	memset(key, 0xaa, sizeof(key));
	check(key, 131, large, strlen(large), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	check(key, 131, larger, strlen(larger), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

static void equal_is_equal_to_the_last_digit(void **state)
{
	char a[HMAC_HEX + 1], b[HMAC_HEX + 1];

	(void)state;
	hmac_sha256("k", 1, NULL, 0, a);
	memcpy(b, a, sizeof(a));
	assert_true(hmac_equal(a, b));
	for (size_t i = 0; i < HMAC_HEX; i++) {
		b[i] ^= 1;
		assert_false(hmac_equal(a, b));
		b[i] ^= 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_vectors_of_the_rfc), cmocka_unit_test(equal_is_equal_to_the_last_digit) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
