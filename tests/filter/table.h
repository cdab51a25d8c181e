/* The verdict tables (NAME.tests in this directory), one line a case:
 *
 *     PROFILE  how  arch  call  [argument]...  ->  verdict
 *
 * PROFILE  a shipped profile, or a file tests/filter/PROFILE.json
 * how      both: simulated and tried live; sim: simulated only (it would end or stop the test)
 * arch     native, i386, arm64, or x32 (native with the x32 bit)
 * call     a name, or a number
 * argument a number (missing: 0), or * for a bad pointer
 * verdict  allow, idle (0, and the call is not made), EPERM, ENOSYS, notify, kill
 */
#ifndef BRIG_TESTS_TABLE_H
#define BRIG_TESTS_TABLE_H

#include "supervisor/profile.h"
#include "tests/filter/bpf_sim.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define TABLE_X32_BIT 0x40000000
#define TABLE_BAD_POINTER 1

/* From the kernel's headers, not from libseccomp. */
static const struct {
	const char *name;
	int nr;
} table_numbers[] = {
#define N(call) { #call, SYS_##call },
#include "tests/filter/numbers.inc"
#undef N
};

struct table_case {
	char file[64], text[160];
	unsigned line;
	char profile[32], verdict[16];
	bool live;
	struct seccomp_data data;
};

static inline const char *table_verdict(uint32_t ret)
{
	switch (ret & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
		return "allow";
	case SECCOMP_RET_USER_NOTIF:
		return "notify";
	case SECCOMP_RET_KILL_PROCESS:
		return "kill";
	case SECCOMP_RET_ERRNO:
		return (ret & SECCOMP_RET_DATA) == 0 ? "idle" :
		       (ret & SECCOMP_RET_DATA) == EPERM ? "EPERM" :
		       (ret & SECCOMP_RET_DATA) == ENOSYS ? "ENOSYS" : "another errno";
	default:
		return "another action";
	}
}

static inline int table_number(const char *word)
{
	char *end;
	long nr = strtol(word, &end, 0);

	if (!*end)
		return (int)nr;
	for (size_t i = 0; i < ARRAY_LEN(table_numbers); i++)
		if (strcmp(table_numbers[i].name, word) == 0)
			return table_numbers[i].nr;
	fail_msg("numbers.inc lacks %s", word);
	return -1;
}

static inline void table_line(struct table_case *c, char *line)
{
	char *words[16], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(line, " \t\n", &save); w && n < ARRAY_LEN(words); w = strtok_r(NULL, " \t\n", &save))
		words[n++] = w;
	if (n < 6 || n > 12 || strcmp(words[n - 2], "->") != 0)
		fail_msg("%s:%u: not PROFILE how arch call arguments -> verdict", c->file, c->line);
	snprintf(c->profile, sizeof(c->profile), "%s", words[0]);
	snprintf(c->verdict, sizeof(c->verdict), "%s", words[n - 1]);
	c->live = strcmp(words[1], "both") == 0;
	c->data.nr = table_number(words[3]) | (strcmp(words[2], "x32") == 0 ? TABLE_X32_BIT : 0);
	c->data.arch = strcmp(words[2], "i386") == 0  ? AUDIT_ARCH_I386 :
		       strcmp(words[2], "arm64") == 0 ? AUDIT_ARCH_AARCH64 :
							AUDIT_ARCH_X86_64;
	for (size_t i = 4; i < n - 2; i++)
		c->data.args[i - 4] = words[i][0] == '*' ? TABLE_BAD_POINTER : strtoull(words[i], NULL, 0);
}

/* Calls `each` for every case of every table; returns how many there were. */
static inline unsigned table_each(void (*each)(const struct table_case *c))
{
	unsigned count = 0;
	glob_t files;

	assert_int_equal(glob("tests/filter/*.tests", 0, NULL, &files), 0);
	for (size_t f = 0; f < files.gl_pathc; f++) {
		FILE *in = fopen(files.gl_pathv[f], "re");
		char line[256];

		assert_non_null(in);
		for (unsigned n = 1; fgets(line, sizeof(line), in); n++) {
			struct table_case c = { .line = n };

			if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
				continue;
			snprintf(c.file, sizeof(c.file), "%s", files.gl_pathv[f]);
			snprintf(c.text, sizeof(c.text), "%.*s", (int)strcspn(line, "\n"), line);
			table_line(&c, line);
			each(&c);
			count++;
		}
		fclose(in);
	}
	globfree(&files);
	return count;
}

/* The profile of that name; kept until the program ends. */
static inline const struct profile *table_profile(const char *name)
{
	static struct profile_store *store;
	static struct profile *loaded[16];
	static char names[16][32];
	struct err err = { 0 };
	char path[96], text[8192];
	ssize_t n = -1;
	size_t i;

	for (i = 0; i < ARRAY_LEN(loaded) && loaded[i]; i++)
		if (strcmp(names[i], name) == 0)
			return loaded[i];
	assert_true(i < ARRAY_LEN(loaded));
	if (!store) {
		_cleanup_close_ int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (profile_store_read(dir, "profiles", &store, &err) < 0)
			fail_msg("%s: %s", err.where, err.detail);
	}
	snprintf(path, sizeof(path), "tests/filter/%s.json", name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text));
	if ((n >= 0 ? profile_load_text(store, path, text, (size_t)n, &loaded[i], &err) :
		      profile_load(store, name, &loaded[i], &err)) < 0)
		fail_msg("%s: %s", err.where, err.detail);
	snprintf(names[i], sizeof(names[i]), "%s", name);
	return loaded[i];
}

#endif
