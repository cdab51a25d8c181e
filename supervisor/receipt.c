#include "supervisor/receipt.h"

#include "jail/base/fd.h"
#include "jail/zygote_proto.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_CAP 8192    /* /proc/PID/status is under 2 KiB */
#define TASKS_LOOKED 64    /* threads of a process that are looked at for a pending signal */
#define CHILDREN_CAP 4096  /* several hundred direct children */
#define MOUNTINFO_CAP 65536 /* SPEC_MOUNTS_MAX mounts of two paths, with room */

/* The text behind "\nKEY:" in a status file, or NULL. */
static const char *field(const char *status, const char *key)
{
	char want[40];
	const char *at;

	snprintf(want, sizeof(want), "\n%s:", key);
	at = strstr(status, want);
	return at ? at + strlen(want) : NULL;
}

static uint64_t field_number(const char *status, const char *key, int base, uint64_t missing)
{
	const char *at = field(status, key);

	return at ? strtoull(at, NULL, base) : missing;
}

static int wrong(enum layer layer, enum layer *ret_layer, struct err *err, const char *what)
{
	*ret_layer = layer;
	return err_set(err, ERR_HOST, EPROTO, layer_name(layer), "the kernel's own record of the jail disagrees: %s", what);
}

static int read_ids(const char *status, uint32_t slot_uid, struct receipt *r, enum layer *layer, struct err *err)
{
	const char *uid = field(status, "Uid"), *gid = field(status, "Gid"), *groups = field(status, "Groups");
	unsigned u[4] = { 0 }, g[4] = { 0 };

	if (!uid || !gid || !groups || sscanf(uid, "%u %u %u %u", &u[0], &u[1], &u[2], &u[3]) != 4 ||
	    sscanf(gid, "%u %u %u %u", &g[0], &g[1], &g[2], &g[3]) != 4)
		return wrong(LAYER_USER, layer, err, "no ids in /proc/PID/status");
	for (int i = 1; i < 4; i++)
		if (u[i] != u[0] || g[i] != g[0])
			return wrong(LAYER_USER, layer, err, "real, effective, saved and file system ids differ");
	if (u[0] == 0 || g[0] == 0)
		return wrong(LAYER_USER, layer, err, "the tool would run as id 0 of the host");
	if (slot_uid && (u[0] != slot_uid || g[0] != slot_uid))
		return wrong(LAYER_USER, layer, err, "the tool would run under another slot's id");
	r->host_uid = u[0];
	groups += strspn(groups, " \t");
	if (*groups != '\n') {
		if (slot_uid)
			return wrong(LAYER_GROUPS, layer, err, "supplementary groups are left");
		r->degraded |= LAYER_BIT(LAYER_GROUPS);
	}
	return 0;
}

int receipt_take_status(const char *status, uint32_t slot_uid, struct receipt *r, enum layer *layer, struct err *err)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	int e = read_ids(status, slot_uid, r, layer, err);

	if (e < 0)
		return e;
	r->caps = 0;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		r->caps |= field_number(status, sets[i], 16, UINT64_MAX);
	if (r->caps)
		return wrong(LAYER_CAPS, layer, err, "a capability set is not empty");
	r->no_new_privs = field_number(status, "NoNewPrivs", 10, 0) == 1;
	if (!r->no_new_privs)
		return wrong(LAYER_PRIVS, layer, err, "no_new_privs is not set");
	if (field_number(status, "Seccomp", 10, 0) != 2)
		return wrong(LAYER_SECCOMP, layer, err, "no filter is installed");
	if (field_number(status, "Threads", 10, 0) != 1)
		return wrong(LAYER_PID, layer, err, "more than one thread");
	return 0;
}

/* One of the words between commas. */
static bool option_set(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = options; *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");
		if (n == len && strncmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

/* What a tool may write to, or see processes by: its own file systems, and what the profile says. */
static bool may_be_writable(const char *point, const struct jail_spec *spec)
{
	static const char *const own[] = { "/tmp", "/dev/shm", "/proc" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(point, own[i]) == 0)
			return true;
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if ((spec->mounts[i].flags & SPEC_MOUNT_RW) && strcmp(point, spec->mounts[i].to) == 0)
			return true;
	return false;
}

/* One line of mountinfo: ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAGS] - TYPE SOURCE SUPER */
static int read_mount(char *line, const struct jail_spec *spec, struct receipt *r, enum layer *layer, struct err *err)
{
	char point[SPEC_PATH_MAX * 4], options[256];
	char *tags = strstr(line, " - ");

	if (!tags || sscanf(line, "%*s %*s %*s %*s %1023s %255s", point, options) != 2)
		return wrong(LAYER_MOUNT, layer, err, "mountinfo cannot be read");
	if (strstr(line, " shared:") && strstr(line, " shared:") < tags)
		return wrong(LAYER_MOUNT, layer, err, "a mount propagates");
	if (!option_set(options, "nosuid"))
		return wrong(LAYER_MOUNT, layer, err, "a mount honours set-uid programs");
	if (!option_set(options, "nodev") && strncmp(point, "/dev/", 5) != 0)
		return wrong(LAYER_MOUNT, layer, err, "a mount honours device nodes");
	if (!option_set(options, "ro") && !may_be_writable(point, spec))
		return wrong(LAYER_MOUNT, layer, err, strcmp(point, "/") == 0 ? "the root is writable" : "a mount is writable");
	if (strcmp(point, "/") == 0)
		r->root_read_only = true;
	r->mounts++;
	return 0;
}

int receipt_take_mounts(char *text, const struct jail_spec *spec, struct receipt *r, enum layer *layer, struct err *err)
{
	char *save = NULL;

	r->mounts = 0;
	r->root_read_only = false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int e = read_mount(line, spec, r, layer, err);
		if (e < 0)
			return e;
	}
	/* root, five device nodes, /tmp, /dev/shm, /proc and what the profile mounts. */
	if (r->mounts == 0 || r->mounts > 9 + spec->mount_count)
		return wrong(LAYER_MOUNT, layer, err, "mounts that the profile does not name");
	if (!r->root_read_only)
		return wrong(LAYER_MOUNT, layer, err, "no root");
	return 0;
}

int receipt_read(pid_t pid, const struct jail_spec *spec, uint32_t slot_uid, struct receipt *r, enum layer *ret_layer,
		 struct err *err)
{
	char status[STATUS_CAP], path[48];
	_cleanup_free_ char *mounts = malloc(MOUNTINFO_CAP);
	ssize_t n;
	int e;

	*ret_layer = LAYER_PID;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	n = fd_read_file_at(AT_FDCWD, path, status, sizeof(status));
	if (n < 0) {
		err_set(err, ERR_HOST, (int)-n, "pid", "%s: %s", path, strerror((int)-n));
		err_hint(err, "mount /proc without hidepid for brigd, or start brigd where it can see the processes it starts");
		return (int)n;
	}
	e = receipt_take_status(status, slot_uid, r, ret_layer, err);
	if (e < 0)
		return e;
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	n = mounts ? fd_read_file_at(AT_FDCWD, path, mounts, MOUNTINFO_CAP) : -ENOMEM;
	*ret_layer = LAYER_MOUNT;
	if (n < 0)
		return err_set(err, ERR_HOST, (int)-n, "mount", "%s: %s", path, strerror((int)-n));
	/* Cut off in the middle: the rest was looked at by nobody. */
	if (n >= MOUNTINFO_CAP - 1)
		return wrong(LAYER_MOUNT, ret_layer, err, "more mounts than there can be");
	return receipt_take_mounts(mounts, spec, r, ret_layer, err);
}

int receipt_take_namespaces(uint32_t own, const struct jail_spec *spec, struct receipt *r, enum layer *ret_layer, struct err *err)
{
	static const enum layer layers[NS_COUNT] = { LAYER_USER, LAYER_MOUNT, LAYER_NET, LAYER_PID,
						     LAYER_IPC, LAYER_UTS, LAYER_CGROUP_NS, LAYER_TIME };

	r->namespaces = own;
	for (int i = 0; i < NS_COUNT; i++) {
		if (own & (1u << i))
			continue;
		if (!(spec->best_effort & LAYER_BIT(layers[i])))
			return wrong(layers[i], ret_layer, err, "the jail shares this namespace with its zygote");
		r->degraded |= LAYER_BIT(layers[i]);
	}
	return 0;
}

static void print_names(uint32_t bits, const char *const *names, unsigned count, struct jbuf *out)
{
	const char *sep = "";

	jbuf_text(out, "[");
	for (unsigned i = 0; i < count; i++)
		if (bits & (1u << i)) {
			jbuf_printf(out, "%s\"%s\"", sep, names[i]);
			sep = ",";
		}
	jbuf_text(out, "]");
}

void receipt_print(const struct receipt *r, struct jbuf *out)
{
	static const char *const ns_names[NS_COUNT] = NS_NAMES;
	const char *layers[LAYER_COUNT];

	for (int i = 0; i < LAYER_COUNT; i++)
		layers[i] = layer_name((enum layer)i);
	jbuf_printf(out, "{\"jail\":\"%s\",\"namespaces\":", r->session ? "session" : r->warm ? "warm" : "cold");
	print_names(r->namespaces, ns_names, NS_COUNT, out);
	jbuf_printf(out, ",\"cgroup\":\"%s\",\"seccomp\":\"%s\",\"landlock\":%d", cgroup_kind_name(r->cgroup), r->filter_digest,
		    r->landlock_abi);
	if (r->caps)
		jbuf_printf(out, ",\"capabilities\":\"%llx\"", (unsigned long long)r->caps);
	else
		jbuf_text(out, ",\"capabilities\":\"none\"");
	jbuf_printf(out, ",\"no_new_privs\":%s,\"root\":\"%s\",\"host_uid\":%u,\"degraded\":", r->no_new_privs ? "true" : "false",
		    r->root_read_only ? "read-only" : "writable", r->host_uid);
	print_names(r->degraded, layers, LAYER_COUNT, out);
	jbuf_text(out, "}");
}

static bool status_pending(const char *status, int sig)
{
	uint64_t bits = field_number(status, "SigPnd", 16, 0) | field_number(status, "ShdPnd", 16, 0);

	return bits & (UINT64_C(1) << (sig - 1));
}

static bool task_pending(pid_t pid, const char *tid, int sig)
{
	char status[STATUS_CAP], path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, tid);
	return fd_read_file_at(AT_FDCWD, path, status, sizeof(status)) >= 0 && status_pending(status, sig);
}

/* One look at the main thread is enough for most: only a process of many threads is looked at one by one. */
static bool process_pending(pid_t pid, int sig)
{
	char status[STATUS_CAP], path[48];
	bool found = false;
	struct dirent *d;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (fd_read_file_at(AT_FDCWD, path, status, sizeof(status)) < 0)
		return false;
	if (status_pending(status, sig))
		return true;
	if (field_number(status, "Threads", 10, 1) < 2)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return false;
	for (int looked = 0; !found && looked < TASKS_LOOKED && (d = readdir(dir)); looked++)
		found = d->d_name[0] != '.' && task_pending(pid, d->d_name, sig);
	closedir(dir);
	return found;
}

bool receipt_signal_pending(pid_t pid, bool alone, int sig)
{
	char kids[CHILDREN_CAP], path[64], *end = kids;
	ssize_t n;

	if (process_pending(pid, sig))
		return true;
	if (alone)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	n = fd_read_file_at(AT_FDCWD, path, kids, sizeof(kids));
	if (n <= 0)
		return false;
	if ((size_t)n == sizeof(kids) - 1) /* cut: a number that is not whole is another process */
		*(strrchr(kids, ' ') ?: kids) = '\0';
	for (char *at = kids; *at; at = end) {
		long kid = strtol(at, &end, 10);
		if (end == at || kid <= 0)
			return false;
		if (process_pending((pid_t)kid, sig))
			return true;
		end += strspn(end, " \n");
	}
	return false;
}
