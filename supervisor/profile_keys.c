/* Every key that a profile may have. profile(5) and profiles/schema.json say the
 * same for people and editors; tests/unit/u-profile.c compares them. */
#include "supervisor/profile_impl.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SEC 1000ull
#define DAY_MS (86400ull * SEC)
#define KI (1ull << 10)
#define MI (1ull << 20)
#define TI (1ull << 40)

#define IN_SPEC(field) offsetof(struct jail_spec, field), sizeof(((struct jail_spec *)0)->field)

static const char interpreter[] = "the interpreter itself needs that much";
static const char in_core[] = "output is held in the supervisor's memory (LIMIT_OUTPUT_BYTES)";
static const char too_short[] = "no call can end in less";
static const char a_day[] = "a call is no service: at most a day";

static const struct profile_key keys[] = {
	{ .path = "name", .kind = KEY_NAME },
	{ .path = "why", .kind = KEY_TEXT },
	{ .path = "extends", .kind = KEY_NAME },

	{ .path = "python", .kind = KEY_SECTION },
	{ .path = "python.builtins", .kind = KEY_CHOICE, .choices = "restricted|full" },
	{ .path = "python.imports", .kind = KEY_MODULES },
	{ .path = "python.preload", .kind = KEY_MODULES },
	{ .path = "python.prelude", .kind = KEY_PRELUDE },

	{ .path = "files", .kind = KEY_SECTION },
	{ "files.tmp", KEY_SIZE, 4 * KI, TI, "a file system has at least a page", "no machine has that", NULL,
	  IN_SPEC(limits.tmp_bytes) },
	{ "files.tmp_inodes", KEY_COUNT, 8, 10 * MI, "Brig itself makes a few", "the kernel keeps each in memory", NULL,
	  IN_SPEC(limits.tmp_inodes) },
	{ "files.shm", KEY_SHM, 4 * KI, TI, "a file system has at least a page", "no machine has that", NULL,
	  IN_SPEC(limits.shm_bytes) },
	{ .path = "files.mounts", .kind = KEY_MOUNTS },
	{ .path = "files.proc", .kind = KEY_CHOICE, .choices = "none|pid" },

	{ .path = "network", .kind = KEY_SECTION },
	{ .path = "network.mode", .kind = KEY_CHOICE, .choices = "none|loopback" },

	{ .path = "processes", .kind = KEY_SECTION },
	{ .path = "processes.subprocess", .kind = KEY_BOOL },

	{ .path = "limits", .kind = KEY_SECTION },
	{ "limits.wall", KEY_DURATION, 10, DAY_MS, too_short, a_day, NULL, IN_SPEC(limits.wall_ms) },
	{ "limits.cpu", KEY_DURATION, 10, DAY_MS, too_short, a_day, NULL, IN_SPEC(limits.cpu_ms) },
	{ "limits.cpus", KEY_CPUS, 1, 102400, "the kernel shares out hundredths", "no machine has that", NULL,
	  IN_SPEC(limits.cpu_quota_pct) },
	{ "limits.memory", KEY_SIZE, 16 * MI, TI, interpreter, "no machine has that", NULL, IN_SPEC(limits.memory_bytes) },
	{ "limits.pids", KEY_COUNT, 1, 32768, "the tool is one process", "the kernel has no more by default", NULL,
	  IN_SPEC(limits.pids) },
	{ "limits.stdout", KEY_SIZE, 0, LIMIT_OUTPUT_BYTES, NULL, in_core, NULL, IN_SPEC(limits.stdout_bytes) },
	{ "limits.stderr", KEY_SIZE, 0, LIMIT_OUTPUT_BYTES, NULL, in_core, NULL, IN_SPEC(limits.stderr_bytes) },
	{ "limits.result", KEY_SIZE, 64, LIMIT_OUTPUT_BYTES, "no answer fits", in_core, NULL, IN_SPEC(limits.result_bytes) },
	{ "limits.open_files", KEY_COUNT, 16, 65536, interpreter, "the kernel keeps each in memory", NULL,
	  IN_SPEC(limits.open_files) },
	{ "limits.file_size", KEY_SIZE, 4 * KI, TI, "no file could be written", "no machine has that", NULL,
	  IN_SPEC(limits.file_bytes) },
	{ "limits.stack", KEY_SIZE, 1 * MI, 1024 * MI, interpreter, "threads would exhaust the address space", NULL,
	  IN_SPEC(limits.stack_bytes) },

	{ .path = "syscalls", .kind = KEY_SECTION },
	{ .path = "syscalls.allow", .kind = KEY_SYSCALLS },

	{ .path = "require", .kind = KEY_REQUIRE },

	{ .path = "audit", .kind = KEY_SECTION },
	{ .path = "audit.args", .kind = KEY_CHOICE, .choices = "hash|values" },

	{ .path = "pool", .kind = KEY_SECTION },
	{ .path = "pool.warm", .kind = KEY_COUNT, .max = 1024, .why_max = "each is a process" },
	{ .path = "pool.max", .kind = KEY_COUNT, .min = 1, .max = 1024, .why_min = "\"pool.warm\": 0 keeps none ready",
	  .why_max = "each is a process" },
};

const struct profile_key *profile_key_at(size_t i)
{
	return i < ARRAY_LEN(keys) ? &keys[i] : NULL;
}

/* The part of the path after `section`, or NULL when it belongs elsewhere. */
static const char *key_within(const struct profile_key *key, const char *section)
{
	size_t n = strlen(section);
	const char *dot = strchr(key->path, '.');

	if (n == 0)
		return dot ? NULL : key->path;
	return dot && (size_t)(dot - key->path) == n && strncmp(key->path, section, n) == 0 ? dot + 1 : NULL;
}

const struct profile_key *profile_key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *rest = key_within(&keys[i], section);
		if (rest && strcmp(rest, name) == 0)
			return &keys[i];
	}
	return NULL;
}

void profile_key_hint(const char *section, const char *name, struct err *err)
{
	const char *words[ARRAY_LEN(keys)];
	char all[200] = "";
	const char *near;
	size_t n = 0, used = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *dot = strrchr(keys[i].path, '.');
		const char *rest = key_within(&keys[i], section);

		/* The right word in the wrong place. */
		if (strcmp(dot ? dot + 1 : keys[i].path, name) == 0) {
			err_hint(err, "did you mean \"%s\"?", keys[i].path);
			return;
		}
		if (rest)
			words[n++] = rest;
	}
	near = nearest_word(name, words, n);
	if (near) {
		err_hint(err, "did you mean \"%s\"?", near);
		return;
	}
	for (size_t i = 0; i < n && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", words[i]);
	err_hint(err, "the keys here are %s", all);
}
