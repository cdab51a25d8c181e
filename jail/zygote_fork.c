/* Making a jail's first process, its id maps, and looking at it from outside. */
#include "jail/base/fd.h"
#include "jail/enter.h"
#include "jail/layer.h"
#include "jail/python.h"
#include "jail/zygote.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* linux_dirent64 of getdents64(2), which no header exports. */
struct dirent_raw {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static bool fd_declared(const struct zygote *zy, int fd, const int *extra, unsigned extra_count)
{
	if (fd <= 2 || fd == ZYGOTE_FD_CONTROL || fd == ZYGOTE_FD_LIFELINE || fd == ZYGOTE_FD_GROUPS || fd == zy->proc_fd || fd == zy->fds_fd ||
	    fd == zy->root_fd || fd == zy->newroot_fd)
		return true;
	for (unsigned i = 0; i < extra_count; i++)
		if (fd == extra[i])
			return true;
	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		if (fd == zy->children[i].pidfd)
			return true;
	return false;
}

static int number_of(const char *digits)
{
	int n = 0;

	for (const char *p = digits; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (*p - '0');
	return n;
}

const char *zygote_fds_check(const struct zygote *zy, const int *extra, unsigned extra_count)
{
	static char wrong[64];
	_Alignas(struct dirent_raw) char buf[4096];
	long n;

	if (lseek(zy->fds_fd, 0, SEEK_SET) < 0)
		return "cannot read /proc/self/fd";
	while ((n = syscall(SYS_getdents64, zy->fds_fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent_raw *d = (const struct dirent_raw *)(buf + at);

			at += d->len;
			if (d->name[0] == '.' || fd_declared(zy, number_of(d->name), extra, extra_count))
				continue;
			snprintf(wrong, sizeof(wrong), "descriptor %.8s is open and nobody declared it", d->name);
			return wrong;
		}
	}
	return n < 0 ? "cannot read /proc/self/fd" : NULL;
}

uint64_t zygote_ns_id(const struct zygote *zy, const char *pid, unsigned ns)
{
	static const char *const names[NS_COUNT] = NS_NAMES;
	char path[64], text[64];
	unsigned long long id;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/ns/%s", pid, names[ns]);
	n = readlinkat(zy->proc_fd, path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%*[a-z_]:[%llu]", &id) == 1 ? id : 0;
}

/* The slot's id, and no other, exists in the jail. Only the parent namespace may write this. */
static int maps_write(const struct zygote *zy, pid_t pid, uint32_t slot)
{
	static const char *const files[] = { "setgroups", "uid_map", "gid_map" };
	char path[64], map[32];
	int r = 0;

	snprintf(map, sizeof(map), "%d %u 1\n", JAIL_ID, zy->ranged ? slot + 1 : 0);
	for (unsigned i = 0; i < ARRAY_LEN(files) && r == 0; i++) {
		snprintf(path, sizeof(path), "%d/%s", (int)pid, files[i]);
		/* PRIV: CAP_SETUID and CAP_SETGID of our namespace; one id of the slot, a number checked by the caller. */
		r = fd_write_file_at(zy->proc_fd, path, i == 0 ? "deny" : map);
	}
	return r;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Like fork(), which glibc cannot be told to do with namespaces. The kernel must
 * renew the thread id that glibc keeps (its address comes from the kernel too),
 * else locks and pthread_kill in the child go by the zygote's. */
static pid_t fork_jail(int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	int *tid = NULL;

	if (prctl(PR_GET_TID_ADDRESS, &tid) < 0)
		return -1;
	args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	args.child_tid = (uint64_t)(uintptr_t)tid;
	/* PRIV: namespaces under our own user namespace, for one child without any id yet. */
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* core(5): '|' starts a program, '@' (6.16) connects to a socket, both whatever RLIMIT_CORE 0 says. Unreadable counts as piped. */
static bool core_is_piped(const struct zygote *zy)
{
	char pattern[2];

	return fd_read_file_at(zy->proc_fd, "sys/kernel/core_pattern", pattern, sizeof(pattern)) <= 0 || pattern[0] == '|' || pattern[0] == '@';
}

/* fds: those of SPAWN, then those of the groups. */
static void child_start(struct zygote *zy, uint32_t slot, const int *fds, unsigned group_count)
{
	struct jail_boot boot = { .spec = zy->spec,
				  .null_fd = zy->null_fd,
				  .group_count = group_count,
				  .workspace = zy->ranged ? slot : 0,
				  .core_piped = core_is_piped(zy) };

	memcpy(boot.fds, fds, sizeof(boot.fds));
	memcpy(boot.groups, fds + ZSPAWN_FDS, group_count * sizeof(int));
	jail_enter(&boot);
}

/* The keeper sent it before core could ask for this jail; what it sent for jails that were given up lies before it. */
static int groups_take(uint64_t id, int fds[ZYGOTE_GROUP_FDS], unsigned *ret_count)
{
	struct zygote_groups msg;
	unsigned n = 0;

	while (id && fd_recv(ZYGOTE_FD_GROUPS, &msg, sizeof(msg), fds, ZYGOTE_GROUP_FDS, &n, MSG_DONTWAIT) == 1) {
		if (msg.magic != ZYGOTE_MAGIC || msg.count != n)
			_exit(1);
		if (msg.id == id) {
			*ret_count = n;
			return 0;
		}
		for (unsigned i = 0; i < n; i++)
			fds[i] = fd_close(fds[i]);
	}
	return id ? -EPROTO : 0;
}

static int child_make(struct zygote *zy, const struct zygote_msg *msg, const int *fds, unsigned group_count, uint64_t *ret_ns)
{
	struct zygote_child *child = &zy->children[msg->slot];
	int pidfd = -1, saved, r;
	uint64_t begin;
	pid_t pid;

	if (!zy->net_ready && zygote_net_ahead(zy))
		return errno ? -errno : -EPROTO;
	python_before_fork();
	begin = now_ns();
	zy->net_ready = false;
	pid = fork_jail(&pidfd);
	if (pid == 0)
		child_start(zy, msg->slot, fds, group_count);
	saved = errno;
	*ret_ns = now_ns() - begin;
	python_after_fork_parent();
	if (pid < 0)
		return -saved;
	r = maps_write(zy, pid, msg->slot);
	if (r < 0) {
		(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
		(void)waitpid(pid, NULL, 0);
		fd_close(pidfd);
		return r;
	}
	*child = (struct zygote_child){ .seq = msg->seq, .pid = pid, .pidfd = pidfd, .net = zy->own_ns[NS_NET] };
	return 0;
}

const char *zygote_net_ahead(struct zygote *zy)
{
	const char *wrong = net_make(zy->spec->flags & SPEC_LO_UP);

	if (wrong)
		return wrong;
	zy->own_ns[NS_NET] = zygote_ns_id(zy, "self", NS_NET);
	zy->net_ready = true;
	return NULL;
}

void zygote_spawn(struct zygote *zy, const struct zygote_msg *msg, int fds[ZSPAWN_FDS])
{
	struct zygote_msg answer = { .magic = ZYGOTE_MAGIC, .kind = ZY_SPAWNED, .seq = msg->seq, .slot = msg->slot };
	int all[ZSPAWN_FDS + ZYGOTE_GROUP_FDS];
	unsigned group_count = 0;
	int r = groups_take(msg->groups, all + ZSPAWN_FDS, &group_count);

	memcpy(all, fds, ZSPAWN_FDS * sizeof(int));
	/* An undeclared descriptor would be in every jail from now on: nothing that this zygote makes can be trusted. */
	if (zygote_fds_check(zy, all, ZSPAWN_FDS + group_count))
		_exit(1);
	if (r == 0)
		r = zy->children[msg->slot].pidfd >= 0 ? -EBUSY : child_make(zy, msg, all, group_count, &answer.fork_ns);
	for (unsigned i = 0; i < ZSPAWN_FDS + group_count; i++)
		all[i] = fd_close(all[i]);
	answer.err = -r;
	zygote_send(&answer, &zy->children[msg->slot].pidfd, r < 0 ? 0 : 1);
	/* Off the path: core is busy with the new jail. If it fails, the next spawn tries again and says so. */
	if (!zy->net_ready)
		(void)zygote_net_ahead(zy);
}

static struct zygote_child *child_find(struct zygote *zy, uint64_t seq)
{
	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		if (zy->children[i].pidfd >= 0 && zy->children[i].seq == seq)
			return &zy->children[i];
	return NULL;
}

/* The namespace that was made for this jail, and nobody else in it: not us, no other jail. */
static bool net_is_own(const struct zygote *zy, const struct zygote_child *child, uint64_t id)
{
	if (id == 0 || id != child->net || id == zy->own_ns[NS_NET])
		return false;
	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		if (&zy->children[i] != child && zy->children[i].pidfd >= 0 && zy->children[i].net == id)
			return false;
	return true;
}

void zygote_inspect(struct zygote *zy, const struct zygote_msg *msg)
{
	struct zygote_msg answer = { .magic = ZYGOTE_MAGIC, .kind = ZY_INSPECTED, .seq = msg->seq, .slot = msg->slot };
	struct zygote_child *child = child_find(zy, msg->seq);
	_cleanup_close_ int listener = -1, tmp = -1;
	char pid[16], path[32];

	if (!child) {
		answer.err = ESRCH;
		zygote_send(&answer, NULL, 0);
		return;
	}
	/* PRIV: ptrace rights over our child, by our capabilities in the parent namespace. */
	listener = pidfd_getfd(child->pidfd, msg->listener_fd, 0);
	answer.err = listener < 0 ? errno : 0;
	snprintf(pid, sizeof(pid), "%d", (int)child->pid);
	for (unsigned ns = 0; ns < NS_COUNT; ns++) {
		uint64_t id = zygote_ns_id(zy, pid, ns);
		if (ns == NS_NET ? net_is_own(zy, child, id) : id && id != zy->own_ns[ns])
			answer.namespaces |= 1u << ns;
	}
	/* PRIV: the same rights; before the tool runs, so the path is what the mount layer made. It lets core ask how full /tmp is. */
	snprintf(path, sizeof(path), "%s/root/tmp", pid);
	tmp = openat(zy->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tmp < 0 && !answer.err)
		answer.err = errno;
	if (answer.err)
		zygote_send(&answer, NULL, 0);
	else
		zygote_send(&answer, (int[]){ listener, tmp }, 2);
}
