/* What is taken from a profile for a tool: never more is left than any of profile, declaration and tier gives, for all shipped profiles and
 * two that grant everything; and what is left is all that the three agree on. */
#include "supervisor/narrow.h"
#include "supervisor/profile_cache.h"
#include "supervisor/profile_impl.h"
#include "tests/filter/bpf_sim.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static struct profile_store *g_store;
static char g_dir[] = "/var/tmp/u-narrow.XXXXXX";

/* Grants all that there is; %s: a directory of ours. */
static const char everything[] =
	"{ \"name\": \"everything\", \"extends\": \"python\", \"network\": { \"mode\": \"loopback\" },"
	"  \"files\": { \"mounts\": [ { \"from\": \"%1$s/a\", \"to\": \"/a\", \"mode\": \"rw\", \"why\": \"w\" },"
	"                           { \"from\": \"%1$s/b\", \"to\": \"/b\", \"why\": \"w\" } ] },"
	"  \"limits\": { \"wall\": \"10m\", \"cpu\": \"9m\", \"memory\": \"4G\", \"pids\": 400, \"stdout\": \"8M\" },"
	"  \"syscalls\": { \"allow\": [ { \"group\": \"@sockets-ip\", \"why\": \"w\" }, { \"group\": \"@sockets-unix\", \"why\": \"w\" } ] } }";
/* A tier as an operator could write one: tighter in places where the shipped ones are not. */
static const char mean_tier[] = "{ \"name\": \"mean\", \"extends\": \"base\", \"limits\": { \"pids\": 2, \"memory\": \"32M\", \"stdout\": 0 },"
				"  \"files\": { \"tmp\": \"4M\" } }";
static const char wide_tier[] =
	"{ \"name\": \"wide\", \"extends\": \"python\", \"network\": { \"mode\": \"loopback\" }, \"limits\": { \"wall\": \"60m\", \"cpu\": \"60m\" },"
	"  \"syscalls\": { \"allow\": [ { \"group\": \"@sockets-ip\", \"why\": \"w\" } ] } }";

static int group_open(void **state)
{
	_cleanup_close_ int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[64];
	struct err err = { 0 };

	(void)state;
	if (dir < 0 || profile_store_read(dir, "profiles", &g_store, &err) < 0 || !mkdtemp(g_dir))
		fail_msg("profiles: %s", err.detail);
	snprintf(path, sizeof(path), "%s/a", g_dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/b", g_dir);
	return mkdir(path, 0755);
}

static int group_close(void **state)
{
	char path[64];

	(void)state;
	profile_store_free(g_store);
	snprintf(path, sizeof(path), "%s/a", g_dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/b", g_dir);
	rmdir(path);
	return rmdir(g_dir);
}

static struct profile *text_load(const char *name, const char *text)
{
	struct err err = { 0 };
	struct profile *p;

	if (profile_load_text(g_store, name, text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s: %s", name, err.where, err.detail);
	return p;
}

static struct profile *everything_load(void)
{
	char text[2048];

	snprintf(text, sizeof(text), everything, g_dir);
	return text_load("everything.json", text);
}

static struct profile *tier_load(const char *name)
{
	struct err err = { 0 };
	struct profile *p;

	if (profile_load_tier(g_store, name, &p, &err) < 0)
		fail_msg("tier %s: %s", name, err.detail);
	return p;
}

static struct profile *narrow(struct profile *p, const struct permissions *declared, const struct profile *tier, bool tier_write,
			      struct permissions *ret_left)
{
	struct err err = { 0 };
	struct profile *n;

	if (profile_narrow(g_store, p, declared, tier, tier_write, &n, ret_left, &err) < 0)
		fail_msg("%s: %s: %s", profile_name(p), err.where, err.detail);
	return n;
}

/* ---- what a spec lets happen ---- */

static bool allows(const struct jail_spec *s, int nr, uint64_t a0, uint64_t a1)
{
	struct seccomp_data data = { .nr = nr, .arch = ARCH, .args = { a0, a1 } };

	return sim_run(s->filter, s->filter_len, &data, NULL) == SECCOMP_RET_ALLOW;
}

static const struct {
	uint64_t a0, a1;
} arguments[] = {
	{ 0, 0 },
	{ SIGCHLD, 0 },
	{ CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, 0 },
	{ AF_UNIX, SOCK_STREAM },
	{ AF_INET, SOCK_STREAM },
	{ 1, SIGTERM },
};

static void filter_is_within(const struct jail_spec *less, const struct jail_spec *more)
{
	for (int nr = 0; nr < 512; nr++)
		for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
			if (allows(less, nr, arguments[i].a0, arguments[i].a1) && !allows(more, nr, arguments[i].a0, arguments[i].a1))
				fail_msg("call %d with arguments %zu is allowed after narrowing, and was not before", nr, i);
}

static bool may_fork(const struct jail_spec *s)
{
	return allows(s, SYS_clone, SIGCHLD, 0) || allows(s, SYS_execve, 0, 0)
#ifdef SYS_fork
	       || allows(s, SYS_fork, 0, 0) || allows(s, SYS_vfork, 0, 0)
#endif
		;
}

static bool may_connect(const struct jail_spec *s)
{
	return allows(s, SYS_socket, AF_INET, SOCK_STREAM) || allows(s, SYS_socket, AF_UNIX, SOCK_STREAM) || allows(s, SYS_connect, 0, 0) ||
	       allows(s, SYS_bind, 0, 0) || (s->flags & SPEC_LO_UP);
}

static bool is_ours(const struct spec_mount *m)
{
	return strncmp(m->from, g_dir, strlen(g_dir)) == 0 || (m->flags & SPEC_MOUNT_WORKSPACE);
}

static unsigned ours(const struct jail_spec *s, uint32_t flag)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->mount_count; i++)
		n += is_ours(&s->mounts[i]) && (!flag || (s->mounts[i].flags & flag));
	return n;
}

static void numbers_are_within(const struct jail_spec *less, const struct jail_spec *more, const char *of)
{
	const struct profile_key *key;

	for (size_t i = 0; (key = profile_key_at(i)); i++) {
		uint64_t a = 0, b = 0;

		if (!key->width)
			continue;
		memcpy(&a, (const char *)less + key->offset, key->width);
		memcpy(&b, (const char *)more + key->offset, key->width);
		if (a > b)
			fail_msg("%s is %llu, the %s has %llu", key->path, (unsigned long long)a, of, (unsigned long long)b);
	}
}

static void mounts_are_within(const struct jail_spec *less, const struct jail_spec *more)
{
	for (uint32_t i = 0; i < less->mount_count; i++) {
		const struct spec_mount *a = &less->mounts[i], *b = NULL;

		for (uint32_t j = 0; j < more->mount_count; j++)
			if (strcmp(more->mounts[j].to, a->to) == 0 && strcmp(more->mounts[j].from, a->from) == 0)
				b = &more->mounts[j];
		assert_non_null(b);
		assert_int_equal(a->flags & ~b->flags, 0);
	}
}

/* The heart of it: less than each of the three. */
static void within_all(const struct profile *profile, const struct permissions *declared, const struct profile *tier, bool tier_write,
		       const struct profile *result)
{
	const struct jail_spec *s = profile_spec(result), *p = profile_spec(profile), *t = tier ? profile_spec(tier) : NULL;

	numbers_are_within(s, p, "profile");
	mounts_are_within(s, p);
	filter_is_within(s, p);
	assert_int_equal(s->flags & ~p->flags, 0);
	assert_int_equal(s->best_effort, p->best_effort);
	assert_int_equal(s->off, p->off);
	if (!declared->network)
		assert_false(may_connect(s));
	if (!declared->subprocess)
		assert_false(may_fork(s) || (s->flags & SPEC_INIT));
	if (!declared->filesystem)
		assert_int_equal(ours(s, 0), 0);
	if (!declared->write || declared->scope == SCOPE_READ_ONLY)
		assert_int_equal(ours(s, SPEC_MOUNT_RW), 0);
	if (!t)
		return;
	numbers_are_within(s, t, "tier");
	if (!(t->flags & SPEC_LO_UP))
		assert_false(may_connect(s));
	if (!(t->flags & SPEC_INIT))
		assert_false(may_fork(s));
	if (!tier_write)
		assert_int_equal(ours(s, SPEC_MOUNT_RW), 0);
}

/* And not less than they agree on: what is left works, and nothing else has changed. */
static void all_that_is_left(const struct profile *profile, const struct permissions *left, const struct profile *result)
{
	const struct jail_spec *s = profile_spec(result), *p = profile_spec(profile);

	assert_int_equal(left->subprocess, may_fork(s) && (s->flags & SPEC_INIT));
	assert_int_equal(left->network, may_connect(s));
	assert_int_equal(left->filesystem, ours(s, 0) > 0);
	assert_int_equal(left->write, ours(s, SPEC_MOUNT_RW) > 0);
	if (left->filesystem)
		assert_int_equal(ours(s, 0), ours(p, 0));
	assert_int_equal(s->mount_count - ours(s, 0), p->mount_count - ours(p, 0));
	assert_string_equal(s->profile, p->profile);
	assert_memory_equal(s->imports, p->imports, sizeof(s->imports));
	assert_memory_equal(s->preload, p->preload, sizeof(s->preload));
	assert_memory_equal(s->prelude, p->prelude, sizeof(s->prelude));
}

static struct permissions permissions_at(unsigned i)
{
	return (struct permissions){ i & 1, i & 2, i & 4, i & 8, (enum tool_scope)(i >> 4) };
}

static void try_all(struct profile *profile, const struct profile *tier, bool tier_write)
{
	for (unsigned i = 0; i < 16 * SCOPE_COUNT; i++) {
		const struct permissions declared = permissions_at(i);
		struct permissions left;
		struct profile *n = narrow(profile, &declared, tier, tier_write, &left);

		within_all(profile, &declared, tier, tier_write, n);
		all_that_is_left(profile, &left, n);
		assert_int_equal(left.scope, declared.scope);
		for (int w = 0; w < PERMISSION_COUNT; w++)
			assert_true(permission_of(&declared, (enum permission)w) || !permission_of(&left, (enum permission)w));
		profile_free(n);
	}
}

static void never_more_than_any_of_the_three(void **state)
{
	struct profile *tiers[] = { NULL, tier_load("draft"), tier_load("probation"), text_load("mean.json", mean_tier),
				    text_load("wide.json", wide_tier) };
	struct profile *all = everything_load();
	struct err err = { 0 };
	const char *name;

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(tiers); t++) {
		try_all(all, tiers[t], false);
		try_all(all, tiers[t], true);
		for (size_t i = 0; t < 3 && (name = profile_store_name(g_store, i)); i++) {
			struct profile *p;

			if (profile_load(g_store, name, &p, &err) < 0)
				fail_msg("%s: %s", name, err.detail);
			try_all(p, tiers[t], true);
			profile_free(p);
		}
	}
	for (size_t t = 0; t < ARRAY_LEN(tiers); t++)
		profile_free(tiers[t]);
	profile_free(all);
}

/* ---- particulars ---- */

static const struct permissions nothing = { 0 };
static const struct permissions full = { true, true, true, true, SCOPE_DESTRUCTIVE };

static void what_takes_nothing_is_the_same_profile(void **state)
{
	struct permissions left;
	struct profile *p = everything_load(), *n = narrow(p, &full, NULL, false, &left);

	(void)state;
	assert_ptr_equal(n, p);
	assert_true(left.filesystem && left.network && left.subprocess && left.write);
	profile_free(n);
	profile_free(p);
}

static void equal_results_are_equal_jails(void **state)
{
	struct permissions reads = { .filesystem = true, .write = true }, left; /* cannot write under that scope */
	struct profile *p = everything_load();
	struct profile *a = narrow(p, &(struct permissions){ .filesystem = true }, NULL, false, &left), *b = narrow(p, &reads, NULL, false, &left);
	struct profile *c = narrow(p, &nothing, NULL, false, &left);

	(void)state;
	assert_string_equal(profile_digest(a), profile_digest(b));
	assert_string_not_equal(profile_digest(a), profile_digest(c));
	assert_string_not_equal(profile_digest(a), profile_digest(p));
	assert_string_equal(profile_name(c), "everything");
	profile_free(a);
	profile_free(b);
	profile_free(c);
	profile_free(p);
}

static void who_took_it_is_told(void **state)
{
	struct permissions left;
	struct profile *p = everything_load(), *tier = tier_load("draft");
	struct profile *a = narrow(p, &nothing, NULL, false, &left), *b = narrow(p, &full, tier, false, &left);
	struct err err = { 0 };
	struct profile *pure, *c;

	(void)state;
	assert_string_equal(profile_origin(a, "network.mode"), "tool: not declared");
	assert_string_equal(profile_origin(a, "processes.subprocess"), "tool: not declared");
	for (int w = 0; w < PERMISSION_COUNT; w++)
		assert_string_equal(profile_taken(a, (enum permission)w), "tool: not declared");
	assert_non_null(strstr(profile_taken(b, PERMISSION_NETWORK), "tier draft (tiers/draft.json:"));
	assert_non_null(strstr(profile_origin(b, "limits.wall"), "tier draft (tiers/draft.json:"));
	assert_string_equal(profile_taken(b, PERMISSION_WRITE), "tier draft");
	assert_null(profile_taken(b, PERMISSION_SUBPROCESS));
	assert_null(profile_taken(b, PERMISSION_FILESYSTEM));
	assert_int_equal(strncmp(profile_origin(b, "limits.open_files"), "python.json:", 12), 0);
	/* What was never there cannot be taken. */
	assert_int_equal(profile_load(g_store, "pure", &pure, &err), 0);
	c = narrow(pure, &nothing, NULL, false, &left);
	assert_null(profile_taken(c, PERMISSION_SUBPROCESS));
	profile_free(c);
	profile_free(pure);
	profile_free(a);
	profile_free(b);
	profile_free(tier);
	profile_free(p);
}

/* A draft of an honest tool must not fail for a limit that its own profile gives. */
static void drafts_have_what_shipped_profiles_give(void **state)
{
	struct profile *tier = tier_load("draft");
	struct err err = { 0 };
	const char *name;

	(void)state;
	for (size_t i = 0; (name = profile_store_name(g_store, i)); i++) {
		struct permissions left;
		struct profile *p, *n;

		assert_int_equal(profile_load(g_store, name, &p, &err), 0);
		n = narrow(p, &full, tier, false, &left);
		struct spec_limits was = profile_spec(p)->limits, is = profile_spec(n)->limits;
		assert_true(is.wall_ms <= 10000 && is.cpu_ms <= 10000);
		was.wall_ms = is.wall_ms;
		was.cpu_ms = is.cpu_ms;
		assert_memory_equal(&was, &is, sizeof(was));
		profile_free(n);
		profile_free(p);
	}
	profile_free(tier);
}

static void tiers_say_whether_a_tool_may_write(void **state)
{
	struct profile *draft = tier_load("draft"), *probation = tier_load("probation");
	struct permissions lets;

	(void)state;
	profile_grants(draft, &lets);
	assert_false(lets.write || lets.network);
	assert_true(lets.subprocess);
	profile_grants(probation, &lets);
	assert_true(lets.write && lets.subprocess);
	assert_false(lets.network);
	profile_free(draft);
	profile_free(probation);
}

static void tiers_are_no_profiles(void **state)
{
	static const char *const bad[] = { "draft", "tiers/draft", "tiers", "probation" };
	static const char leaf[] = "{ \"name\": \"t\", \"extends\": \"draft\" }";
	struct err err = { 0 };
	struct profile *p;
	const char *name;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(profile_load(g_store, bad[i], &p, &err), -ENOENT);
	for (size_t i = 0; (name = profile_store_name(g_store, i)); i++)
		assert_true(profile_name_ok(name) && strcmp(name, "draft") != 0);
	assert_string_equal(profile_store_tier(g_store, 0), "draft");
	assert_string_equal(profile_store_tier(g_store, 1), "probation");
	assert_null(profile_store_tier(g_store, 2));
	assert_int_equal(profile_load_text(g_store, "t.json", leaf, strlen(leaf), &p, &err), -ENOENT);
	assert_int_equal(profile_load_tier(g_store, "pure", &p, &err), -ENOENT);
	assert_string_equal(err.detail, "no trust tier \"pure\" beside the profiles");
	assert_int_equal(profile_load_tier(g_store, "../pure", &p, &err), -ENOENT);
}

static void the_cache_keeps_each_once(void **state)
{
	struct profile_cache *cache = profile_cache_new(g_store);
	struct profile *p, *tier, *first[48], *again;
	struct permissions left;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(profile_cache_fill(cache, &err), 0);
	assert_int_equal(profile_cache_get(cache, "python", NULL, NULL, 0, &p, &err), 0);
	assert_int_equal(profile_cache_tier(cache, "draft", &tier, &err), 0);
	for (unsigned i = 0; i < ARRAY_LEN(first); i++) { /* more than are kept */
		const struct permissions declared = permissions_at(i);

		assert_int_equal(profile_cache_narrow(cache, p, &declared, tier, false, &first[i], &left, &err), 0);
		assert_int_equal(left.subprocess, declared.subprocess);
		assert_int_equal(profile_cache_narrow(cache, p, &declared, tier, false, &again, &left, &err), 0);
		assert_ptr_equal(again, first[i]);
		assert_int_equal(left.subprocess, declared.subprocess);
		profile_free(again);
	}
	/* The same permissions under another tier are another profile. */
	assert_int_equal(profile_cache_narrow(cache, p, &(struct permissions){ .scope = SCOPE_DESTRUCTIVE }, NULL, false, &again, &left, &err), 0);
	assert_int_equal(profile_spec(again)->limits.wall_ms, 30000);
	profile_free(again);
	for (unsigned i = 0; i < ARRAY_LEN(first); i++)
		profile_free(first[i]);
	profile_free(tier);
	profile_free(p);
	profile_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(never_more_than_any_of_the_three),
		cmocka_unit_test(what_takes_nothing_is_the_same_profile),
		cmocka_unit_test(equal_results_are_equal_jails),
		cmocka_unit_test(who_took_it_is_told),
		cmocka_unit_test(drafts_have_what_shipped_profiles_give),
		cmocka_unit_test(tiers_say_whether_a_tool_may_write),
		cmocka_unit_test(tiers_are_no_profiles),
		cmocka_unit_test(the_cache_keeps_each_once),
	};

	return cmocka_run_group_tests(tests, group_open, group_close);
}
