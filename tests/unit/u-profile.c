/* The profile loader: every refusal with its place and words, the merge, the spec,
 * and that table, schema, manual page and shipped profiles say the same. */
#include "supervisor/profile_impl.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct profile_store *g_store;

static int store_open(void **state)
{
	struct err err = { 0 };
	_cleanup_close_ int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	if (dir < 0 || profile_store_read(dir, "profiles", &g_store, &err) < 0)
		fail_msg("profiles: %s", err.detail);
	return 0;
}

static int store_close(void **state)
{
	(void)state;
	profile_store_free(g_store);
	return 0;
}

/* A profile around one piece of text; the piece begins at line 2, column 1. */
static int load(const char *piece, struct profile **ret, struct err *err)
{
	char text[4096];

	snprintf(text, sizeof(text), "{ \"name\": \"t\", \"extends\": \"pure\",\n%s }", piece);
	return profile_load_text(g_store, "/some/where/t.json", text, strlen(text), ret, err);
}

static const struct bad {
	const char *piece, *where, *detail, *hint; /* hint NULL: not compared */
} bads[] = {
	/* keys */
	{ "\"limts\": {}", "t.json:2:1", "unknown key \"limts\"", "did you mean \"limits\"?" },
	{ "\"limits\": { \"wal\": \"5s\" }", "t.json:2:13", "unknown key \"wal\" in \"limits\"", "did you mean \"wall\"?" },
	{ "\"wall\": \"5s\"", "t.json:2:1", "unknown key \"wall\"", "did you mean \"limits.wall\"?" },
	{ "\"limits\": { \"memroy\": 1 }", "t.json:2:13", "unknown key \"memroy\" in \"limits\"", "did you mean \"memory\"?" },
	{ "\"limits\": { \"banana\": 1 }", "t.json:2:13", "unknown key \"banana\" in \"limits\"",
	  "the keys here are wall, cpu, cpus, memory, pids, stdout, stderr, result, open_files, file_size, stack" },
	{ "\"Limits\": {}", "t.json:2:1", "unknown key \"Limits\"", "did you mean \"limits\"?" },
	{ "\"a\\u0007\\\"\": 1", "t.json:2:1", "unknown key \"a\\u0007\\\"\"", NULL },
	{ "\"pool\": {},\n \"pool\": {}", "t.json:3:2", "duplicate key \"pool\"", "" },
	{ "\"limits\": { \"pids\": 1,\n\"p\\u0069ds\": 2 }", "t.json:3:1", "duplicate key \"p\\u0069ds\"", "" },
	{ "\"why\": \"a\\u0000b\"", "t.json:2:10", "a string may not hold a NUL character", "" },
	/* grammar */
	{ "\"pool\": {},", "t.json:2:13", "expected a key, found \"}\"", "" },
	{ "\"pool\": { \"warm\": 01 }", "t.json:2:19", "a number may not begin with 0", "" },
	/* kinds */
	{ "\"limits\": []", "t.json:2:1", "\"limits\" must be an object, found an array", "" },
	{ "\"why\": \"\"", "t.json:2:1", "\"why\" must be a reason in words, found \"\"", "" },
	{ "\"why\": 3", "t.json:2:1", "\"why\" must be a reason in words, found 3", "" },
	{ "\"processes\": { \"subprocess\": \"yes\" }", "t.json:2:16",
	  "\"processes.subprocess\" must be true or false, found \"yes\"", "" },
	{ "\"files\": { \"proc\": \"full\" }", "t.json:2:12", "\"files.proc\" must be \"none\" or \"pid\", found \"full\"", "" },
	{ "\"network\": { \"mode\": \"host\" }", "t.json:2:14",
	  "\"network.mode\" must be \"none\" or \"loopback\", found \"host\"", "" },
	{ "\"network\": { \"mode\": \"lopback\" }", "t.json:2:14",
	  "\"network.mode\" must be \"none\" or \"loopback\", found \"lopback\"", "did you mean \"loopback\"?" },
	{ "\"python\": { \"builtins\": \"Full\" }", "t.json:2:13",
	  "\"python.builtins\" must be \"restricted\" or \"full\", found \"Full\"", "did you mean \"full\"?" },
	/* units */
	{ "\"limits\": { \"memory\": \"16MB\" }", "t.json:2:13",
	  "\"limits.memory\" must be a size such as \"16M\" or \"64K\" (units K, M, G), or a number of bytes, found \"16MB\"",
	  "write \"16M\"" },
	{ "\"limits\": { \"memory\": \"16 m\" }", "t.json:2:13", NULL, "write \"16M\"" },
	{ "\"limits\": { \"memory\": \"65536\" }", "t.json:2:13", NULL, "write 65536" },
	{ "\"limits\": { \"memory\": \"\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"memory\": \"-1M\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"memory\": \"1.5G\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"memory\": \"99999999999999999999G\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"memory\": 1.5 }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"memory\": -4 }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"wall\": 5 }", "t.json:2:13",
	  "\"limits.wall\" must be a duration such as \"5s\", \"250ms\" or \"2m\", found 5", "write \"5s\"" },
	{ "\"limits\": { \"wall\": 0.25 }", "t.json:2:13", NULL, "write \"250ms\"" },
	{ "\"limits\": { \"wall\": \"5 sec\" }", "t.json:2:13", NULL, "write \"5s\"" },
	{ "\"limits\": { \"wall\": \"5S\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"wall\": \"5\" }", "t.json:2:13", NULL, "write \"5s\"" },
	{ "\"limits\": { \"wall\": \"1h\" }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"pids\": \"16\" }", "t.json:2:13", "\"limits.pids\" must be a whole number, found \"16\"", "" },
	{ "\"limits\": { \"pids\": 1.5 }", "t.json:2:13", "\"limits.pids\" must be a whole number, found 1.5", "" },
	{ "\"limits\": { \"cpus\": \"one\" }", "t.json:2:13",
	  "\"limits.cpus\" must be a number of cores such as 1 or 0.5, found \"one\"", "" },
	/* unreachable */
	{ "\"limits\": { \"wall\": \"0s\" }", "t.json:2:13",
	  "\"limits.wall\" is 0s, it must be at least 10ms: no call can end in less", "" },
	{ "\"limits\": { \"wall\": \"2000m\" }", "t.json:2:13",
	  "\"limits.wall\" is 120000s, it can be at most 86400s: a call is no service: at most a day", "" },
	{ "\"limits\": { \"memory\": \"1M\" }", "t.json:2:13",
	  "\"limits.memory\" is 1M, it must be at least 16M: the interpreter itself needs that much", "" },
	{ "\"limits\": { \"memory\": 0 }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"stdout\": \"1G\" }", "t.json:2:13",
	  "\"limits.stdout\" is 1G, it can be at most 16M: output is held in the supervisor's memory (LIMIT_OUTPUT_BYTES)", "" },
	{ "\"limits\": { \"pids\": 0 }", "t.json:2:13", "\"limits.pids\" is 0, it must be at least 1: the tool is one process", "" },
	{ "\"limits\": { \"cpus\": 0 }", "t.json:2:13",
	  "\"limits.cpus\" is 0.00, it must be at least 0.01: the kernel shares out hundredths", "" },
	{ "\"limits\": { \"open_files\": 3 }", "t.json:2:13", NULL, "" },
	{ "\"limits\": { \"cpu\": \"6s\", \"wall\": \"5s\" }", "t.json:2:13",
	  "\"limits.cpu\" cannot be reached: \"limits.wall\" ends the call before", "" },
	{ "\"limits\": { \"cpu\": \"11s\", \"wall\": \"5s\", \"cpus\": 2 }", "t.json:2:13", NULL, "" },
	{ "\"files\": { \"tmp\": \"64M\" }, \"limits\": { \"memory\": \"32M\" }", "t.json:2:12",
	  "\"files.tmp\" cannot be reached: /tmp lives in the memory of \"limits.memory\"", "" },
	{ "\"pool\": { \"warm\": 5, \"max\": 4 }", "t.json:2:11", "\"pool.warm\" cannot be reached: \"pool.max\" is smaller", "" },
	{ "\"pool\": { \"max\": 0 }", "t.json:2:11", NULL, "" },
	{ "\"processes\": { \"subprocess\": true }", "t.json:2:16",
	  "\"processes.subprocess\" needs the system calls of \"@processes\"",
	  "add { \"group\": \"@processes\", \"why\": ... } to \"syscalls.allow\"" },
	{ "\"network\": { \"mode\": \"loopback\" }", "t.json:2:14", "\"network.mode\" needs the system calls of \"@sockets-ip\"",
	  NULL },
	{ "\"processes\": { \"subprocess\": true }, \"limits\": {\n\"pids\": 2 }, "
	  "\"syscalls\": { \"allow\": [ { \"group\": \"@processes\", \"why\": \"w\" } ] }",
	  "t.json:3:1", "\"limits.pids\" is 2, but \"processes.subprocess\" needs 3: init, tool, program", "" },
	/* modules */
	{ "\"python\": { \"imports\": \"json\" }", "t.json:2:13",
	  "\"python.imports\" must be an array of module names, found \"json\"", "" },
	{ "\"python\": { \"imports\": [\"json\", \"os path\"] }", "t.json:2:33",
	  "\"python.imports\" must be module names such as \"json\" or \"urllib.parse\", found \"os path\"", "" },
	{ "\"python\": { \"imports\": [\"a..b\"] }", "t.json:2:25", NULL, "" },
	{ "\"python\": { \"imports\": [\"json\", \"re\",\n\"json\"] }", "t.json:3:1", "module \"json\" is listed twice", "" },
	{ "\"python\": { \"prelude\": \"../x.py\" }", "t.json:2:13",
	  "\"python.prelude\" must be the name of a .py file beside the profiles, found \"../x.py\"", "" },
	{ "\"python\": { \"prelude\": \"none.py\" }", "t.json:2:13",
	  "no prelude \"none.py\" beside the profiles, or an empty one", "" },
	/* system calls */
	{ "\"syscalls\": { \"allow\": [ { \"group\": \"@thread\", \"why\": \"w\" } ] }", "t.json:2:28",
	  "no group of system calls \"@thread\"", "did you mean \"@threads\"?" },
	{ "\"syscalls\": { \"allow\": [ { \"group\": \"@threads\" } ] }", "t.json:2:26",
	  "an element of \"syscalls.allow\" needs a \"why\"", "" },
	{ "\"syscalls\": { \"allow\": [ { \"why\": \"w\" } ] }", "t.json:2:26",
	  "an element of \"syscalls.allow\" needs either a \"group\" or a \"name\"", "" },
	{ "\"syscalls\": { \"allow\": [ { \"name\": \"ptrace\", \"why\": \"w\" } ] }", "t.json:2:28",
	  "\"ptrace\" cannot be granted: control of another process", "" },
	{ "\"syscalls\": { \"allow\": [ { \"name\": \"clone3\", \"why\": \"w\" } ] }", "t.json:2:28",
	  "\"clone3\" cannot be granted: its flags lie behind a pointer; the C library falls back on clone", "" },
	{ "\"syscalls\": { \"allow\": [ { \"name\": \"execve\", \"why\": \"w\" } ] }", "t.json:2:28",
	  "\"execve\" comes with a group only", "write { \"group\": \"@processes\", \"why\": ... }" },
	{ "\"syscalls\": { \"allow\": [ { \"name\": \"no_such\", \"why\": \"w\" } ] }", "t.json:2:28",
	  "no system call \"no_such\" here", "" },
	{ "\"syscalls\": { \"allow\": [ { \"group\": \"@base\", \"wy\": \"w\" } ] }", "t.json:2:46",
	  "unknown key \"wy\" in an element of \"syscalls.allow\"", "did you mean \"why\"?" },
	{ "\"syscalls\": { \"allow\": [ \"@base\" ] }", "t.json:2:26",
	  "\"syscalls.allow\" must be objects, found \"@base\"", "" },
	/* protections */
	{ "\"require\": { \"seccomp\": \"best_effort\" }", "t.json:2:14",
	  "Brig cannot run without \"seccomp\": it is part of what makes a jail", NULL },
	{ "\"require\": { \"capabilities\": \"off\" }", "t.json:2:14",
	  "\"capabilities\" cannot be switched off, only \"mdwe\" can (for a JIT or ctypes)", NULL },
	{ "\"require\": { \"landlok\": \"enforced\" }", "t.json:2:14", "no protection is called \"landlok\"",
	  "did you mean \"landlock\"?" },
	{ "\"require\": { \"landlock\": \"maybe\" }", "t.json:2:14",
	  "\"landlock\" must be \"enforced\" or \"best_effort\", found \"maybe\"", "" },
	{ "\"require\": { \"landlock\": \"best-effort\" }", "t.json:2:14", NULL, "did you mean \"best_effort\"?" },
	/* mounts */
#define MOUNT(members) "\"files\": { \"mounts\": [ { " members ", \"why\": \"w\" } ] }"
	{ MOUNT("\"from\": \"/\""), "t.json:2:24", "\"/\" may not be mounted: it holds everything, Brig's own state too", "" },
	{ MOUNT("\"from\": \"/proc\", \"to\": \"/p\""), "t.json:2:24", "\"/proc\" may not be mounted: it is the kernel's; ask for files.proc", "" },
	{ MOUNT("\"from\": \"/proc/self\", \"to\": \"/p\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/sys\", \"to\": \"/s\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/dev/null\", \"to\": \"/n\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/run\", \"to\": \"/r\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/etc\", \"to\": \"/e\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/var\", \"to\": \"/v\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/root\", \"to\": \"/v\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/usr/share\", \"to\": \"/proc/x\""), "t.json:2:24",
	  "nothing can be mounted at \"/proc/x\": /proc is the jail's own", "" },
	{ MOUNT("\"from\": \"/usr/share\", \"to\": \"/tmp/x\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"/usr/share\", \"to\": \"/etc/passwd\""), "t.json:2:24",
	  "nothing can be mounted at \"/etc/passwd\": Brig makes it", "" },
	{ MOUNT("\"from\": \"/usr/share\", \"to\": \"/\""), "t.json:2:24", NULL, "" },
	{ MOUNT("\"from\": \"usr\""), "t.json:2:26",
	  "\"from\" must be an absolute path without \"..\", \".\", \"//\" or a slash at its end, found \"usr\"", "" },
	{ MOUNT("\"from\": \"/usr/../etc\""), "t.json:2:26", NULL, "" },
	{ MOUNT("\"from\": \"/usr/\""), "t.json:2:26", NULL, "" },
	{ MOUNT("\"from\": \"/usr//x\""), "t.json:2:26", NULL, "" },
	{ MOUNT("\"from\": 3"), "t.json:2:26", NULL, "" },
	{ MOUNT("\"from\": \"/no/such/place\""), "t.json:2:24",
	  "\"/no/such/place\" cannot be mounted: No such file or directory", "" },
	{ MOUNT("\"from\": \"@bins\""), "t.json:2:24", "no mount is called \"@bins\"", "did you mean \"@bin\"?" },
	{ MOUNT("\"from\": \"@bin\", \"to\": \"/x\""), "t.json:2:42",
	  "a mount by token stands at its own place, read-only: leave \"to\", \"exec\" and \"rw\" out", "" },
	{ MOUNT("\"from\": \"/usr/share\", \"mode\": \"r\""), "t.json:2:48", "\"mode\" must be \"ro\" or \"rw\", found \"r\"", NULL },
	{ MOUNT("\"from\": \"/usr/share\", \"mode\": \"rw\", \"exec\": true"), "t.json:2:62",
	  "a mount is either writable or executable, never both", "" },
	{ MOUNT("\"form\": \"/usr/share\""), "t.json:2:26", "unknown key \"form\" in an element of \"files.mounts\"",
	  "did you mean \"from\"?" },
	{ "\"files\": { \"mounts\": [ { \"from\": \"/usr/share\" } ] }", "t.json:2:24",
	  "an element of \"files.mounts\" needs a \"why\"", "" },
};

static void refusals_tell_place_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
		const struct bad *b = &bads[i];
		struct profile *profile = NULL;
		struct err err = { 0 };

		if (load(b->piece, &profile, &err) >= 0)
			fail_msg("loaded: %s", b->piece);
		assert_null(profile);
		if (strcmp(err.where, b->where) != 0 || (b->detail && strcmp(err.detail, b->detail) != 0) ||
		    (b->hint && strcmp(err.hint, b->hint) != 0) || err.class != ERR_POLICY)
			fail_msg("%s\n  %s: %s\n  hint: %s", b->piece, err.where, err.detail, err.hint);
	}
}

static void assert_text_refused(const char *text, const char *where, const char *detail)
{
	struct profile *profile = NULL;
	struct err err = { 0 };

	assert_true(profile_load_text(g_store, "t.json", text, strlen(text), &profile, &err) < 0);
	assert_null(profile);
	if (strcmp(err.where, where) != 0 || strcmp(err.detail, detail) != 0)
		fail_msg("%s\n  %s: %s", text, err.where, err.detail);
}

static void chains_are_checked(void **state)
{
	struct profile *profile = NULL;
	struct err err = { 0 };

	(void)state;
	assert_text_refused("[]", "t.json:1:1", "expected \"{\", found \"[\"");
	assert_text_refused("{}", "t.json:1:1", "a profile needs a \"name\"");
	assert_text_refused("{\"name\":\"../x\"}", "t.json:1:2",
			    "\"name\" must be a name of a-z, 0-9, \"-\" and \"_\", at most 63 long, found \"../x\"");
	assert_text_refused("{\"name\":\"t\"}", "t.json:1:1", "nothing says \"python.builtins\"");
	assert_text_refused("{\"name\":\"t\",\"extends\":\"pur\"}", "t.json:1:13", "no profile \"pur\"");
	assert_text_refused("{\"name\":\"pure\",\"extends\":\"pure\"}", "t.json:1:2",
			    "the name \"pure\" belongs to another profile");
	assert_true(profile_load(g_store, "pyton", &profile, &err) < 0);
	assert_string_equal(err.detail, "no profile \"pyton\"");
	assert_string_equal(err.hint, "did you mean \"python\"?");
	assert_true(profile_load(g_store, "../etc/passwd", &profile, &err) < 0);
	assert_true(profile_load(g_store, "schema", &profile, &err) < 0);
}

static struct profile *must_load(const char *piece)
{
	struct profile *profile = NULL;
	struct err err = { 0 };

	if (load(piece, &profile, &err) < 0)
		fail_msg("%s\n  %s: %s", piece, err.where, err.detail);
	assert_null(spec_check(profile_spec(profile)));
	return profile;
}

/* Is `name` in the NUL-separated list? */
static bool lists(const char *list, uint32_t len, const char *name)
{
	for (uint32_t at = 0; at < len; at += (uint32_t)strlen(list + at) + 1)
		if (strcmp(list + at, name) == 0)
			return true;
	return false;
}

static void values_reach_the_spec(void **state)
{
	struct profile *p = must_load(
		"\"limits\": { \"wall\": \"2m\", \"cpu\": \"250ms\", \"cpus\": 0.5, \"memory\": \"64M\", \"pids\": 7, "
		"\"stdout\": \"1K\", \"stderr\": 0, \"result\": 4096, \"open_files\": 33, \"file_size\": \"2M\", \"stack\": \"4M\" }, "
		"\"files\": { \"tmp\": \"8M\", \"tmp_inodes\": 99, \"shm\": \"1M\", \"proc\": \"pid\" }, "
		"\"python\": { \"builtins\": \"full\", \"imports\": [\"urllib.parse\"], \"preload\": [] }, "
		"\"require\": { \"mdwe\": \"off\", \"cgroup\": \"best_effort\", \"groups\": \"enforced\" }, "
		"\"pool\": { \"warm\": 2, \"max\": 3 }");
	const struct jail_spec *s = profile_spec(p);

	(void)state;
	assert_int_equal(s->limits.wall_ms, 120000);
	assert_int_equal(s->limits.cpu_ms, 250);
	assert_int_equal(s->limits.cpu_quota_pct, 50);
	assert_int_equal(s->limits.memory_bytes, 64u << 20);
	assert_int_equal(s->limits.pids, 7);
	assert_int_equal(s->limits.stdout_bytes, 1024);
	assert_int_equal(s->limits.stderr_bytes, 0);
	assert_int_equal(s->limits.result_bytes, 4096);
	assert_int_equal(s->limits.open_files, 33);
	assert_int_equal(s->limits.file_bytes, 2u << 20);
	assert_int_equal(s->limits.stack_bytes, 4u << 20);
	assert_int_equal(s->limits.tmp_bytes, 8u << 20);
	assert_int_equal(s->limits.tmp_inodes, 99);
	assert_int_equal(s->limits.shm_bytes, 1u << 20);
	assert_int_equal(s->flags, SPEC_PROC | SPEC_SHM | SPEC_FULL_BUILTINS);
	assert_int_equal(s->off, LAYER_BIT(LAYER_MDWE));
	assert_int_equal(s->best_effort, LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_SPECULATION));
	assert_string_equal(s->profile, "t");
	assert_int_equal(s->imports_len, strlen("urllib.parse") + 1);
	assert_int_equal(s->preload_len, 0);
	assert_int_equal(profile_warm(p), 2);
	assert_int_equal(profile_max(p), 3);
	profile_free(p);
}

/* Pairs that contradict each other only once inherited are the child's tightening, not its mistake. */
static void a_child_may_tighten(void **state)
{
	struct profile *p = must_load("\"limits\": { \"wall\": \"100ms\", \"memory\": \"16M\", \"pids\": 1 }, \"pool\": { \"max\": 2 }");

	(void)state;
	assert_int_equal(profile_warm(p), 2);
	profile_free(p);
}

static void merge_rules_hold(void **state)
{
	struct profile *p = must_load("\"files\": { \"mounts\": [ { \"from\": \"/usr/share/misc\", \"to\": \"/data\", \"why\": \"one\" },\n"
				      "{ \"from\": \"/usr/share/doc\", \"to\": \"/data\", \"why\": \"instead\" },\n"
				      "{ \"from\": \"@zoneinfo\", \"why\": \"mine\" } ] },\n"
				      "\"syscalls\": { \"allow\": [ { \"group\": \"@threads\", \"why\": \"t\" } ] },\n"
				      "\"limits\": { \"memory\": \"200M\" }");
	const struct jail_spec *s = profile_spec(p);
	unsigned data = 0, zones = 0, libs = 0;

	(void)state;
	for (uint32_t i = 0; i < s->mount_count; i++) {
		data += strcmp(s->mounts[i].to, "/data") == 0 && strcmp(s->mounts[i].from, "/usr/share/doc") == 0;
		zones += strcmp(s->mounts[i].to, "/usr/share/zoneinfo") == 0;
		libs += strncmp(s->mounts[i].to, "/usr/lib/", 9) == 0;
	}
	assert_int_equal(data, 1);
	assert_int_equal(zones, 1);
	assert_true(libs >= 2);
	assert_true(lists(s->imports, s->imports_len, "json"));
	assert_string_equal(profile_origin(p, "limits.memory"), "t.json:6");
	assert_string_equal(profile_origin(p, "python.imports"), "pure.json:8");
	assert_string_equal(profile_origin(p, "limits.wall"), "base.json:28");
	assert_null(profile_origin(p, "limits.nothing"));
	profile_free(p);
}

/* A switch that is turned off takes its group of calls with it. */
static void switches_rule_their_groups(void **state)
{
	static const char off[] = "{ \"name\": \"t\", \"extends\": \"python\", \"processes\": { \"subprocess\": false }, "
				  "\"require\": { \"mdwe\": \"enforced\" } }";
	struct profile *p = NULL, *python = NULL, *stdlib = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(profile_load_text(g_store, "t.json", off, strlen(off), &p, &err), 0);
	assert_int_equal(profile_load(g_store, "python", &python, &err), 0);
	assert_int_equal(profile_load(g_store, "stdlib", &stdlib, &err), 0);
	assert_string_not_equal(profile_filter_digest(p), profile_filter_digest(python));
	assert_string_equal(profile_filter_digest(p), profile_filter_digest(stdlib));
	assert_int_equal(profile_spec(p)->flags & (SPEC_INIT | SPEC_MDWE), SPEC_MDWE);
	assert_int_equal(profile_spec(python)->flags & (SPEC_INIT | SPEC_MDWE), SPEC_INIT);
	profile_free(p);
	profile_free(python);
	profile_free(stdlib);
}

static void digests_name_the_same_thing(void **state)
{
	struct profile *a = must_load("\"limits\": { \"pids\": 5 }"), *b = must_load("\"limits\": { \"pids\": 5 }, \"why\": \"x\""),
		       *c = must_load("\"limits\": { \"pids\": 6 }");

	(void)state;
	assert_string_equal(profile_digest(a), profile_digest(b));
	assert_string_not_equal(profile_digest(a), profile_digest(c));
	assert_string_equal(profile_filter_digest(a), profile_filter_digest(c));
	assert_int_equal(strlen(profile_digest(a)), 7 + 64);
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

/* What is printed is a profile again, and the same one. */
static void print_can_be_read_back(void **state)
{
	const char *name;

	(void)state;
	for (size_t i = 0; (name = profile_store_name(g_store, i)); i++) {
		struct profile *p = NULL, *again = NULL;
		struct err err = { 0 };
		char *text, *at;

		if (profile_load(g_store, name, &p, &err) < 0)
			fail_msg("%s: %s", err.where, err.detail);
		text = profile_print(p);
		assert_non_null(text);
		at = strstr(text, "\"name\": \"");
		assert_non_null(at);
		memcpy(at + 9, "z", 1); /* another name, of the same length */
		if (profile_load_text(g_store, "again.json", text, strlen(text), &again, &err) < 0)
			fail_msg("%s: %s\n%s", err.where, err.detail, text);
		assert_string_equal(profile_filter_digest(p), profile_filter_digest(again));
		assert_memory_equal(&profile_spec(p)->limits, &profile_spec(again)->limits, sizeof(struct spec_limits));
		assert_int_equal(profile_spec(p)->mount_count, profile_spec(again)->mount_count);
		free(text);
		profile_free(p);
		profile_free(again);
	}
	assert_true(name == NULL);
}

static char *read_whole(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text = calloc(1, 1 << 18);

	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 18) - 1, in) > 0);
	fclose(in);
	return text;
}

/* Table, schema and manual page know the same keys, tokens and groups. */
static void documents_agree_with_the_table(void **state)
{
	char *schema = read_whole("profiles/schema.json"), *page = read_whole("profiles/profile.5"), word[96];
	const struct syscall_group *group;
	const struct profile_key *key;

	(void)state;
	for (size_t i = 0; (key = profile_key_at(i)); i++) {
		const char *dot = strrchr(key->path, '.');

		snprintf(word, sizeof(word), "\"%s\":", dot ? dot + 1 : key->path);
		if (!strstr(schema, word))
			fail_msg("schema.json lacks %s", key->path);
		snprintf(word, sizeof(word), ".It Cm %s\n", key->path);
		if (key->kind != KEY_SECTION && !strstr(page, word))
			fail_msg("profile.5 lacks %s", key->path);
	}
	for (size_t i = 0; (group = syscall_group_at(i)); i++) {
		snprintf(word, sizeof(word), ".It Li %s\n", group->name);
		if (!strstr(page, word))
			fail_msg("profile.5 lacks %s", group->name);
		snprintf(word, sizeof(word), "\"%s\"", group->name);
		if (!strstr(schema, word))
			fail_msg("schema.json lacks %s", group->name);
	}
	free(schema);
	free(page);
}

/* The example of the design, but for its mount, which this machine need not have. */
static void the_contract_loads(void **state)
{
	static const char text[] =
		"{ \"name\": \"contract\", \"why\": \"computation only\", \"extends\": \"base\",\n"
		"  \"python\": { \"builtins\": \"restricted\", \"imports\": [\"math\", \"json\"], \"preload\": [\"math\", \"json\"] },\n"
		"  \"files\": { \"tmp\": \"16M\", \"tmp_inodes\": 1024, \"mounts\": [ { \"from\": \"/usr/share/misc\", \"to\": \"/data\", "
		"\"mode\": \"ro\", \"why\": \"...\" } ], \"proc\": \"none\" },\n"
		"  \"network\": { \"mode\": \"none\" }, // a comment\n"
		"  \"limits\": { \"wall\": \"5s\", \"cpu\": \"5s\", \"memory\": \"128M\", \"pids\": 16, \"stdout\": \"64K\", \"stderr\": \"16K\", "
		"\"result\": \"256K\", \"open_files\": 64, \"file_size\": \"16M\" },\n"
		"  \"syscalls\": { \"allow\": [ { \"group\": \"@base\", \"why\": \"...\" } ] },\n"
		"  \"require\": { \"cgroup\": \"enforced\", \"landlock\": \"best_effort\" },\n"
		"  \"pool\": { \"warm\": 4, \"max\": 64 } }";
	struct profile *p = NULL;
	struct err err = { 0 };

	(void)state;
	if (profile_load_text(g_store, "contract.json", text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.detail);
	assert_int_equal(profile_max(p), LIMIT_SLOTS);
	profile_free(p);
}

/* A directory of profiles of our own, for what the shipped ones do not show. */
static void bad_directories_are_refused(void **state)
{
	char dir[] = "/tmp/u-profile.XXXXXX", path[128];
	struct profile_store *store = NULL;
	struct profile *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *const files[][2] = {
		{ "a.json", "{\"name\":\"a\",\"extends\":\"b\"}" },
		{ "b.json", "{\"name\":\"b\",\n\"extends\":\"a\"}" },
		{ "c.json", "{\"name\":\"d\"}" },
		{ "e.json", "{\"name\":\"e\",\"extends\":\"c\"}" },
	};
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		FILE *out = fopen(path, "we");
		assert_non_null(out);
		fputs(files[i][1], out);
		fclose(out);
	}
	assert_int_equal(profile_store_read(fd, dir, &store, &err), 0);
	assert_string_equal(profile_store_name(store, 0), "a");
	assert_null(profile_store_name(store, 4));
	assert_true(profile_load(store, "a", &p, &err) < 0);
	assert_string_equal(err.where, "b.json:2:1");
	assert_string_equal(err.detail, "\"a\" extends itself");
	assert_true(profile_load(store, "e", &p, &err) < 0);
	assert_string_equal(err.where, "c.json:1:2");
	assert_string_equal(err.detail, "\"name\" is \"d\" in the file c.json");
	assert_true(profile_load(store, "c", &p, &err) < 0);
	assert_string_equal(err.detail, "\"name\" is \"d\" in the file c.json");
	profile_store_free(store);

	snprintf(path, sizeof(path), "%s/pipe.json", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(profile_store_read(fd, dir, &store, &err) < 0);
	assert_non_null(strstr(err.detail, "pipe.json is not a regular file"));
	unlink(path);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		unlink(path);
	}
	rmdir(dir);
}

/* Brig's own places are refused through links too. */
static void own_state_is_never_shown(void **state)
{
	char dir[] = "/tmp/u-profile.XXXXXX", inner[64], link[64], piece[256];
	struct profile_store *store = NULL;
	struct profile *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(inner, sizeof(inner), "%s/state", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(symlink(inner, link), 0);
	setenv("BRIG_STATE", inner, 1);
	_cleanup_close_ int fd = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(profile_store_read(fd, "profiles", &store, &err), 0);
	unsetenv("BRIG_STATE");
	const char *const sources[] = { dir, inner, link };
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		snprintf(piece, sizeof(piece),
			 "{ \"name\": \"t\", \"extends\": \"pure\", \"files\": { \"mounts\": [ { \"from\": \"%s\", \"to\": \"/d\", "
			 "\"why\": \"w\" } ] } }",
			 sources[i]);
		assert_true(profile_load_text(store, "t.json", piece, strlen(piece), &p, &err) < 0);
		if (!strstr(err.detail, "it holds Brig's own"))
			fail_msg("%s", err.detail);
	}
	profile_store_free(store);
	unlink(link);
	rmdir(inner);
	rmdir(dir);
}

static int store_try(const char *dir)
{
	struct profile_store *store = NULL;
	struct err err = { 0 };
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = profile_store_read(fd, dir, &store, &err);

	if (r == 0)
		profile_store_free(store);
	return r;
}

static void profiles_of_strangers_are_refused(void **state)
{
	char dir[] = "/tmp/u-profile.XXXXXX", file[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/mine.json", dir);
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "{}", 2), 2);
	assert_int_equal(store_try(dir), 0);
	assert_int_equal(fchmod(fd, 0646), 0);
	assert_int_equal(store_try(dir), -EPERM);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(chmod(dir, 0757), 0);
	assert_int_equal(store_try(dir), -EPERM);
	assert_int_equal(chmod(dir, 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(fchown(fd, 4711, 4711), 0);
		assert_int_equal(store_try(dir), -EPERM);
		assert_int_equal(chown(dir, 4711, 4711), 0);
		assert_int_equal(store_try(dir), 0);
	}
	close(fd);
	unlink(file);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_tell_place_and_reason), cmocka_unit_test(chains_are_checked),
		cmocka_unit_test(values_reach_the_spec),	  cmocka_unit_test(a_child_may_tighten),
		cmocka_unit_test(merge_rules_hold),		  cmocka_unit_test(switches_rule_their_groups),
		cmocka_unit_test(digests_name_the_same_thing),	  cmocka_unit_test(print_can_be_read_back),
		cmocka_unit_test(documents_agree_with_the_table), cmocka_unit_test(the_contract_loads),
		cmocka_unit_test(bad_directories_are_refused),	  cmocka_unit_test(own_state_is_never_shown),
		cmocka_unit_test(profiles_of_strangers_are_refused),
	};

	return cmocka_run_group_tests(tests, store_open, store_close);
}
