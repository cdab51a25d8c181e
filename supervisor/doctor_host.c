#include "supervisor/doctor_host.h"

#include "jail/base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

/* open_tree clones with mount_setattr: the newest calls that no layer can do without. */
#define KERNEL_FLOOR	      512
#define LANDLOCK_VERSION_FLAG 1u /* LANDLOCK_CREATE_RULESET_VERSION */

/* -1: no such file or unreadable. The last new line is cut. */
static int text_read(const char *path, char *buf, size_t cap)
{
	ssize_t n = fd_read_file_at(AT_FDCWD, path, buf, cap);

	if (n < 0)
		return -1;
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* The number in a sysctl file, or absent. */
static long number_read(const char *path, long absent)
{
	char buf[32];
	char *end;
	long v;

	if (text_read(path, buf, sizeof(buf)) < 0)
		return absent;
	v = strtol(buf, &end, 10);
	return end == buf ? absent : v;
}

static void PRINTF_LIKE(3, 4) fact_tell(struct fact *f, enum fact_state state, const char *fmt, ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

static void fact_fix(struct fact *f, const char *fix)
{
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
}

static void fact_kernel(struct fact *f, bool as_root UNUSED)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return fact_tell(f, FACT_UNKNOWN, "its release cannot be read");
	if (major * 100 + minor >= KERNEL_FLOOR)
		return fact_tell(f, FACT_OK, "%.60s %.20s", u.release, u.machine);
	fact_tell(f, FACT_MISSING, "%.60s is older than 5.12", u.release);
	fact_fix(f, "run Linux 5.13 or newer; 6.1 or newer is what Brig is tested on");
}

static void fact_lsm(struct fact *f, bool as_root UNUSED)
{
	char list[160];

	if (text_read("/sys/kernel/security/lsm", list, sizeof(list)) < 0)
		return fact_tell(
			f, FACT_UNKNOWN, "securityfs is not mounted here; the landlock line tells what matters");
	fact_tell(f, FACT_OK, "%s", list);
}

static void fact_landlock(struct fact *f, bool as_root UNUSED)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);

	if (abi > 0)
		return fact_tell(f, FACT_OK, "ABI %ld", abi);
	if (errno == EOPNOTSUPP) {
		fact_tell(f, FACT_MISSING, "the kernel has it, but it was not switched on at boot");
		return fact_fix(f, "put landlock first into the kernel's lsm= boot parameter");
	}
	fact_tell(f, FACT_MISSING, "%s", errno == ENOSYS ? "the kernel is built without it" : strerror(errno));
	fact_fix(f, "a kernel from 5.13 on with CONFIG_SECURITY_LANDLOCK; in a container, a seccomp profile that lets "
		    "landlock_* through");
}

static void fact_userns(struct fact *f, bool as_root)
{
	long max = number_read("/proc/sys/user/max_user_namespaces", -1);
	long clone = number_read("/proc/sys/kernel/unprivileged_userns_clone", 1);
	long apparmor = number_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0);

	if (max == 0) {
		fact_tell(f, FACT_MISSING, "user.max_user_namespaces is 0: nobody may make one");
		return fact_fix(f, "sysctl -w user.max_user_namespaces=10000");
	}
	if (clone == 0) {
		fact_tell(f, as_root ? FACT_OK : FACT_MISSING,
			"kernel.unprivileged_userns_clone is 0: only root may make one");
		if (!as_root)
			fact_fix(f, "sysctl -w kernel.unprivileged_userns_clone=1, or start brigd as root");
		return;
	}
	if (apparmor == 1) {
		fact_tell(f, as_root ? FACT_OK : FACT_MISSING,
			"kernel.apparmor_restrict_unprivileged_userns is 1: those an ordinary user makes have no "
			"capability");
		if (!as_root)
			fact_fix(f, "an AppArmor profile for brigd that says 'userns,'; or sysctl -w "
				    "kernel.apparmor_restrict_unprivileged_userns=0");
		return;
	}
	if (max < 0)
		return fact_tell(f, FACT_UNKNOWN, "user.max_user_namespaces cannot be read");
	fact_tell(f, FACT_OK, "allowed, at most %ld", max);
}

static void fact_seccomp(struct fact *f, bool as_root UNUSED)
{
	char list[160];

	if (text_read("/proc/sys/kernel/seccomp/actions_avail", list, sizeof(list)) < 0) {
		fact_tell(f, FACT_UNKNOWN, "kernel.seccomp.actions_avail cannot be read");
		return;
	}
	if (strstr(list, "user_notif"))
		return fact_tell(f, FACT_OK, "filters with user notification");
	fact_tell(f, FACT_MISSING, "no user notification: %s", list);
	fact_fix(f, "run Linux 5.0 or newer with CONFIG_SECCOMP_FILTER");
}

/* The value of "Name:\tvalue" in /proc/self/status. */
static long status_number(const char *name)
{
	char buf[4096];
	const char *p;

	if (fd_read_file_at(AT_FDCWD, "/proc/self/status", buf, sizeof(buf)) < 0)
		return -1;
	p = strstr(buf, name);
	return p ? strtol(p + strlen(name), NULL, 10) : -1;
}

static void fact_container(struct fact *f, bool as_root UNUSED)
{
	long mode = status_number("\nSeccomp:");

	if (mode < 0)
		return fact_tell(f, FACT_UNKNOWN, "/proc/self/status cannot be read");
	if (mode != 2)
		return fact_tell(f, FACT_OK, "no seccomp filter around Brig");
	fact_tell(f, FACT_WARN,
		"Brig itself runs under a seccomp filter, as in a container; it may refuse clone3, unshare, mount, "
		"pivot_root or keyctl");
	fact_fix(f, "where a layer is missing: docker or podman run --security-opt seccomp=unconfined, or a profile "
		    "with those calls");
}

static void fact_cgroup(struct fact *f, bool as_root UNUSED)
{
	struct statfs s;
	char list[160];

	if (statfs("/sys/fs/cgroup", &s) < 0)
		return fact_tell(f, FACT_MISSING, "/sys/fs/cgroup: %s", strerror(errno));
	if (s.f_type != CGROUP2_SUPER_MAGIC)
		return fact_tell(f, FACT_OK, "version 1 hierarchies (hybrid)");
	if (text_read("/sys/fs/cgroup/cgroup.controllers", list, sizeof(list)) < 0)
		return fact_tell(f, FACT_OK, "version 2");
	fact_tell(f, FACT_OK, "version 2: %s", list);
}

static void fact_python(struct fact *f, bool as_root UNUSED)
{
	DIR *d = opendir("/usr/lib");
	struct dirent *e;
	unsigned minor, best = 0;
	char tail;

	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, "python3.%u%c", &minor, &tail) == 1 && minor > best)
			best = minor;
	if (d)
		closedir(d);
	if (best)
		return fact_tell(f, FACT_OK, "3.%u in /usr/lib", best);
	fact_tell(f, FACT_MISSING, "no /usr/lib/python3.*");
	fact_fix(f, "apt-get install python3 libpython3-stdlib");
}

/* /proc is mounted on top of, or hides processes: then the kernel lets nobody in a user namespace mount a fresh one. */
static void fact_proc(struct fact *f, bool as_root UNUSED)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char line[1024], point[200], first[200] = "";
	unsigned over = 0;
	bool mounted = false, hides = false;

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%*s %*s %*s %*s %199s", point) != 1)
			continue;
		if (strcmp(point, "/proc") == 0) {
			mounted = true;
			hides = strstr(line, "hidepid=") && !strstr(line, "hidepid=0");
		} else if (strncmp(point, "/proc/", 6) == 0 && strcmp(point, "/proc/sys/fs/binfmt_misc") != 0) {
			if (!over++)
				memcpy(first, point, sizeof(first));
		}
	}
	if (in)
		fclose(in);
	if (!mounted)
		return fact_tell(f, FACT_UNKNOWN, "no procfs at /proc");
	if (!over && !hides)
		return fact_tell(f, FACT_OK, "whole");
	if (over)
		fact_tell(f, FACT_WARN, "masked by %u mounts (%.80s%s): a profile that asks for /proc is refused", over,
			first, over > 1 ? ", ..." : "");
	else
		fact_tell(f, FACT_WARN, "mounted with hidepid: what Brig reads of its jails may be hidden from it");
	fact_fix(f, over ? "docker run --security-opt systempaths=unconfined, podman run --security-opt unmask=ALL"
			 : "mount -o remount,hidepid=0 /proc, or start brigd as root");
}

/* pidfd_getfd, by which the seccomp listener leaves a jail, counts as attaching. */
static void fact_yama(struct fact *f, bool as_root UNUSED)
{
	long scope = number_read("/proc/sys/kernel/yama/ptrace_scope", -1);

	if (scope < 0)
		return fact_tell(f, FACT_OK, "not there");
	if (scope < 3)
		return fact_tell(f, FACT_OK, "ptrace_scope %ld", scope);
	fact_tell(f, FACT_MISSING, "ptrace_scope %ld: nobody may take a seccomp listener out of a jail", scope);
	fact_fix(f, "set kernel.yama.ptrace_scope=2 in /etc/sysctl.d and boot again: 3 cannot be taken back");
}

static const struct {
	const char *name;
	void (*read)(struct fact *f, bool as_root);
} sources[] = {
	{ "kernel", fact_kernel },
	{ "lsm", fact_lsm },
	{ "landlock", fact_landlock },
	{ "user_namespaces", fact_userns },
	{ "seccomp", fact_seccomp },
	{ "container", fact_container },
	{ "cgroup", fact_cgroup },
	{ "python", fact_python },
	{ "proc", fact_proc },
	{ "yama", fact_yama },
};

unsigned host_facts(struct fact *facts, unsigned max, bool as_root)
{
	unsigned n = 0;

	for (; n < max && n < ARRAY_LEN(sources); n++) {
		facts[n] = (struct fact){ .name = sources[n].name };
		sources[n].read(&facts[n], as_root);
	}
	return n;
}

const struct fact *host_fact_find(const struct fact *facts, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(facts[i].name, name) == 0)
			return &facts[i];
	return NULL;
}
