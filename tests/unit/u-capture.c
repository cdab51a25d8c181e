/* Output within its bound: head, tail, counts and hash are right for every length and split. */
#include "supervisor/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *printed(struct capture *c)
{
	struct jbuf b;

	jbuf_init(&b, 1u << 20);
	capture_print(c, &b);
	assert_false(b.failed);
	char *text = strndup(b.data, b.len);
	jbuf_done(&b);
	return text;
}

static void short_output_is_whole(void **state)
{
	struct capture c;

	(void)state;
	assert_int_equal(capture_init(&c, 1000), 0);
	capture_add(&c, "hello\n", 6);
	capture_add(&c, "a\0b", 3);
	char *text = printed(&c);
	assert_non_null(strstr(text, "\"text\":\"hello\\na\\u0000b\",\"bytes\":9,\"truncated\":false"));
	free(text);
	capture_done(&c);
}

static void the_empty_hash_is_right(void **state)
{
	struct capture c;

	(void)state;
	capture_init(&c, 100);
	char *text = printed(&c);
	assert_non_null(strstr(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
	free(text);
	capture_done(&c);
}

/* Every total length around the bound, fed in every chunk size, keeps first and last bytes. */
static void head_and_tail_are_kept(void **state)
{
	(void)state;
	for (size_t total = 990; total < 2300; total += 13)
		for (size_t chunk = 1; chunk < 300; chunk = chunk * 2 + 1) {
			char data[2400];
			struct capture c;

			for (size_t i = 0; i < total; i++)
				data[i] = (char)('a' + i % 26);
			capture_init(&c, 1000);
			for (size_t at = 0; at < total; at += chunk)
				capture_add(&c, data + at, total - at < chunk ? total - at : chunk);
			char *text = printed(&c), tail[11];
			assert_int_equal(strncmp(text + 9, "abcdefghij", 10), 0);
			snprintf(tail, sizeof(tail), "%.10s", data + total - 10);
			char *end = strstr(text, "\",\"bytes\":");
			assert_non_null(end);
			assert_int_equal(strncmp(end - 10, tail, 10), 0);
			assert_int_equal(capture_truncated(&c), total > 1000);
			size_t left_out = 0;
			char *note = strstr(text, "[... ");
			if (total > 1000) {
				assert_non_null(note);
				sscanf(note, "[... %zu bytes", &left_out);
				/* two line breaks are escaped to two characters each */
				size_t note_len = (size_t)snprintf(NULL, 0, "\\n[... %zu bytes left out ...]\\n", left_out);
				assert_int_equal((size_t)(end - (text + 9)) - note_len + left_out, total);
				assert_true((size_t)(end - (text + 9)) <= 1000 + 2);
			} else {
				assert_null(note);
			}
			free(text);
			capture_done(&c);
		}
}

static void characters_are_not_cut_in_half(void **state)
{
	(void)state;
	for (size_t lead = 0; lead < 4; lead++) {
		struct capture c;

		capture_init(&c, 1000);
		capture_add(&c, "xxxx", lead);
		for (int i = 0; i < 1000; i++)
			capture_add(&c, "\xf0\x9f\x8e\x89", 4);
		char *text = printed(&c);
		assert_null(strstr(text, "\xef\xbf\xbd"));
		free(text);
		capture_done(&c);
	}
}

static void bad_bytes_become_replacement_characters(void **state)
{
	struct capture c;

	(void)state;
	capture_init(&c, 1000);
	capture_add(&c, "a\xff\xfe\xc3", 4);
	char *text = printed(&c);
	assert_non_null(strstr(text, "\"text\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
	free(text);
	capture_done(&c);
}

static void tiny_bounds_hold(void **state)
{
	(void)state;
	for (size_t cap = 0; cap < 140; cap++) {
		struct capture c;

		capture_init(&c, cap);
		for (int i = 0; i < 50; i++)
			capture_add(&c, "0123456789", 10);
		char *text = printed(&c);
		assert_true(capture_truncated(&c));
		free(text);
		capture_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_output_is_whole),
		cmocka_unit_test(the_empty_hash_is_right),
		cmocka_unit_test(head_and_tail_are_kept),
		cmocka_unit_test(characters_are_not_cut_in_half),
		cmocka_unit_test(bad_bytes_become_replacement_characters),
		cmocka_unit_test(tiny_bounds_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
