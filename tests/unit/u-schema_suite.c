/* The official suite of JSON Schema, draft 2020-12, where its files lie beside the checkout: every case comes out as it says, or the
 * schema was refused at compile. Which groups are refused is counted: a validator that refuses all would be right too. */
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"
#include "supervisor/wire/tape.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char *const places[] = { "../shared/data/json-schema-test-suite/draft2020-12", "../../shared/data/json-schema-test-suite/draft2020-12" };

struct tally {
	unsigned right, wrong, refused, groups, groups_refused;
};

static char *read_file(const char *dir, const char *name, size_t *len)
{
	char path[512];
	char *text = malloc(1u << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(text);
	*len = fread(text, 1, 1u << 20, f);
	fclose(f);
	return text;
}

static void run_group(const struct tape *t, uint32_t group, const char *file, struct tally *tally)
{
	const char *raw = t->raw + t->nodes[group].at;
	size_t len = tape_raw_len(t, group), start, n;
	struct schema *schema = NULL;
	char path[64];
	struct err err = { 0 };

	assert_true(json_find(raw, len, "schema", &start, &n, NULL));
	tally->groups++;
	if (schema_compile(raw + start, n, &schema, &err) < 0)
		tally->groups_refused++;
	if (!schema && getenv("BRIG_SUITE_SHOW"))
		printf("# %s: refused: %s (%s)\n", file, err.detail, err.hint);
	for (unsigned i = 0;; i++) {
		bool valid, came;

		snprintf(path, sizeof(path), "tests.%u.data", i);
		if (!json_find(raw, len, path, &start, &n, NULL))
			break;
		if (!schema) {
			tally->refused++;
			continue;
		}
		err = (struct err){ 0 };
		came = schema_check(schema, raw + start, n, &err) == 0;
		if (came != (err.detail[0] == '\0'))
			printf("# %s: an error without words, or words without one: %s\n", file, err.detail);
		snprintf(path, sizeof(path), "tests.%u.valid", i);
		assert_true(json_find(raw, len, path, &start, &n, NULL));
		valid = raw[start] == 't';
		snprintf(path, sizeof(path), "tests.%u.description", i);
		assert_true(json_find(raw, len, path, &start, &n, NULL));
		if (came != valid)
			printf("# %s: %.*s: came %d: %s\n", file, (int)n, raw + start, came, err.detail);
		if (came == valid)
			tally->right++;
		else
			tally->wrong++;
	}
	schema_free(schema);
}

static void every_case_is_right_or_its_schema_refused(void **state)
{
	struct tally tally = { 0 };
	struct dirent *entry;
	const char *place = NULL;
	DIR *dir = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places) && !dir; i++)
		dir = opendir(place = places[i]);
	if (!dir)
		SKIP_NEEDS("shared-data");
	while ((entry = readdir(dir))) {
		size_t len;
		char *text;
		struct tape t;

		if (!strstr(entry->d_name, ".json"))
			continue;
		text = read_file(place, entry->d_name, &len);
		assert_int_equal(json_check(text, len, 0, 200, NULL), 0);
		assert_int_equal(tape_read(text, len, 200, &t), 0);
		for (uint32_t i = 1; i < t.nodes[0].next; i = t.nodes[i].next)
			run_group(&t, i, entry->d_name, &tally);
		tape_done(&t);
		free(text);
	}
	closedir(dir);
	printf("# %u cases right, %u wrong, %u with a refused schema (%u of %u schemas)\n", tally.right, tally.wrong, tally.refused,
	       tally.groups_refused, tally.groups);
	assert_int_equal(tally.wrong, 0);
	assert_true(tally.right > 800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_is_right_or_its_schema_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
