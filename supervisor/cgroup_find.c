/* The place for our base in cgroup2: a subtree that was delegated to us, else
 * (root only) the top of the hierarchy. Follows systemd's CGROUP_DELEGATION and
 * the kernel's rule that a group with controllers for its children has no
 * processes of its own. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static const struct {
	unsigned bit;
	const char *name;
} controllers[] = { { CGROUP_MEMORY, "memory" }, { CGROUP_PIDS, "pids" }, { CGROUP_CPU, "cpu" } };

static unsigned bits_read(int dir, const char *file)
{
	char text[512];
	unsigned bits = 0;

	if (fd_read_file_at(dir, file, text, sizeof(text)) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (cgroup_list_has(text, controllers[i].name))
			bits |= controllers[i].bit;
	return bits;
}

void cgroup_subtree_switch(int dir, unsigned bits, char sign)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		char text[16];
		if (!(bits & controllers[i].bit))
			continue;
		snprintf(text, sizeof(text), "%c%s", sign, controllers[i].name);
		/* PRIV: on: leaves existing children unlimited; off: only what we switched on, and the kernel refuses
		 * while a child still uses it. */
		(void)fd_write_file_at(dir, "cgroup.subtree_control", text);
	}
}

/* Enables what is not enabled yet; returns what holds afterwards. */
static unsigned bits_enable(int dir, unsigned want)
{
	cgroup_subtree_switch(dir, want & ~bits_read(dir, "cgroup.subtree_control"), '+');
	return bits_read(dir, "cgroup.subtree_control") & want;
}

static bool is_true_root(int dir)
{
	return faccessat(dir, "cgroup.type", F_OK, 0) < 0; /* the one group without the file */
}

static bool is_delegated(const char *path)
{
	char value[8];
	static const char *const names[] = { "user.delegate", "trusted.delegate" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (getxattr(path, names[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	return false;
}

static bool is_writable(const char *path)
{
	struct stat st;
	char procs[600];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return stat(path, &st) == 0 && st.st_uid == geteuid() && faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) == 0;
}

struct members {
	long foreign; /* a process that is neither we nor our client, or 0 */
	bool us;      /* we or our client are in it */
};

static struct members members_read(int dir, pid_t client)
{
	char text[8192], *end;
	struct members m = { 0, false };

	if (fd_read_file_at(dir, "cgroup.procs", text, sizeof(text)) < 0)
		return m;
	for (char *p = text; *p; p = *end ? end + 1 : end) {
		unsigned long pid = strtoul(p, &end, 10);
		if (end == p)
			break;
		if (pid == (unsigned long)getpid() || (client > 0 && pid == (unsigned long)client))
			m.us = true;
		else
			m.foreign = (long)pid;
	}
	return m;
}

static void leaf_move(int dir, pid_t client)
{
	char text[24];

	if (mkdirat(dir, CGROUP_LEAF, 0755) < 0 && errno != EEXIST)
		return;
	const pid_t pids[] = { client, getpid() };
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		if (pids[i] <= 0)
			continue;
		snprintf(text, sizeof(text), "%d", (int)pids[i]);
		/* PRIV: moves ourselves and the client that started us, inside our own subtree. */
		(void)fd_write_file_at(dir, CGROUP_LEAF "/cgroup.procs", text);
	}
}

/* Tries to make the base below `path`; fills base[CGROUP_DIR_V2] and controllers. */
static bool v2_try(struct cgroup_host *host, const char *path, pid_t client)
{
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned want, have;

	if (dir < 0)
		return false;
	want = bits_read(dir, "cgroup.controllers");
	have = bits_read(dir, "cgroup.subtree_control");
	if (!want) {
		cgroup_why(host, "cgroup2 at %s offers none of memory, pids, cpu", path);
		return false;
	}
	if ((want & ~have) && !is_true_root(dir)) {
		struct members m = members_read(dir, client);
		if (m.foreign) {
			cgroup_why(host, "other processes (%ld) live in our group %s, so its controllers cannot be enabled",
				   m.foreign, path);
			return false;
		}
		if (m.us)
			leaf_move(dir, client);
	}
	unsigned now = bits_enable(dir, want);
	host->enabled = now & ~have;
	int base = cgroup_base_open(path);
	if (base < 0) {
		cgroup_why(host, "cannot make %s/" CGROUP_BASE ": %s", path, strerror(-base));
		return false;
	}
	host->controllers = bits_enable(base, now);
	if (!host->controllers) {
		cgroup_why(host, "no controller can be enabled in %s/" CGROUP_BASE, path);
		fd_close(base);
		return false;
	}
	if (host->controllers != CGROUP_ALL)
		cgroup_why(host, "%s delegates only%s%s%s", path, host->controllers & CGROUP_MEMORY ? " memory" : "",
			   host->controllers & CGROUP_PIDS ? " pids" : "", host->controllers & CGROUP_CPU ? " cpu" : "");
	host->base[CGROUP_DIR_V2] = base;
	return true;
}

/* The nearest group at or above our own that was handed to us; in place in m->own. */
static bool delegated_find(struct cgroup_mount *m)
{
	char path[sizeof(m->own)];
	size_t stop = strlen(m->point);
	char *slash;

	if (!m->own[0])
		return false;
	snprintf(path, sizeof(path), "%s", m->own);
	for (;;) {
		if (is_writable(path) && is_delegated(path)) {
			snprintf(m->own, sizeof(m->own), "%s", path);
			return true;
		}
		slash = strrchr(path, '/');
		if (strlen(path) <= stop || !slash)
			break;
		*slash = '\0';
	}
	/* No mark, but ours to write: a user's own group, or the root of a container's cgroup namespace. */
	slash = strrchr(m->own, '/');
	if (slash && strcmp(slash + 1, CGROUP_LEAF) == 0)
		*slash = '\0';
	return is_writable(m->own) && (geteuid() != 0 || strcmp(m->own, m->point) == 0);
}

/* Last resort of an ordinary user: a group above our own that is ours to write and holds no processes. */
static bool ancestor_try(struct cgroup_host *host, const struct cgroup_mount *m, pid_t client)
{
	char path[sizeof(m->own)];
	char *slash;

	snprintf(path, sizeof(path), "%s", m->own);
	while (strlen(path) > strlen(m->point) && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (!is_writable(path))
			return false;
		if (v2_try(host, path, client))
			return true;
	}
	return false;
}

/* What an ordinary user can do where nothing was marked as delegated. */
static bool user_try(struct cgroup_host *host, struct cgroup_mount *m, pid_t client)
{
	struct cgroup_mount scope;

	if (cgroup_scope_enter() == 0 && cgroup_mount_find(NULL, &scope) && delegated_find(&scope) &&
	    v2_try(host, scope.own, client))
		return true;
	return ancestor_try(host, m, client);
}

bool cgroup_v2_open(struct cgroup_host *host, pid_t client)
{
	struct cgroup_mount m;

	if (!cgroup_mount_find(NULL, &m)) {
		cgroup_why(host, "cgroup2 is not mounted");
		return false;
	}
	_cleanup_close_ int top = open(m.point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || !bits_read(top, "cgroup.controllers")) {
		cgroup_why(host, "cgroup2 at %s offers none of memory, pids, cpu", m.point);
		return false;
	}
	bool root = geteuid() == 0 && m.whole && is_true_root(top);
	if (root && strcmp(m.own, m.point) == 0)
		return v2_try(host, m.point, client);
	if (delegated_find(&m) && v2_try(host, m.own, client))
		return true;
	if (root)
		return v2_try(host, m.point, client);
	if (geteuid() != 0 && user_try(host, &m, client))
		return true;
	if (!host->why[0])
		cgroup_why(host, "our control group %s is not delegated to us", m.own[0] ? m.own : "(outside the mount)");
	return false;
}
