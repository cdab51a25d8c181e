/* The keeper's answers: one function per message, found through one table.
 * Core is taken for hostile: what a message may not be ends the keeper, what it
 * asks in vain gets an errno. */
#include "jail/base/fd.h"
#include "jail/spec.h"
#include "jail/zygote_proto.h"
#include "supervisor/keeper.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/log.h"
#include "supervisor/notify.h"
#include "supervisor/pidfd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* A group whose last member was reaped is empty within a scheduling round; core asks again for one that is not, and
 * nobody else waits meanwhile. */
#define DEL_WAIT_MS 4u
/* Bounds of what a message may ask for; profiles are checked much more closely elsewhere. */
#define MEMORY_MIN (1ull << 20)
#define MEMORY_MAX (1ull << 46)
#define PIDS_MAX (1u << 22) /* the kernel's own PID_MAX_LIMIT */
#define CPU_PCT_MAX (100u * 8192u)

/* A core skips a number for each zygote that it could not even ask for. One that leapt to the last number there is would leave
 * none for the cores after it. */
#define GEN_STEP_MAX 1024u

/* Answers of a handler beyond 0 and -errno: the message itself was impossible. */
#define BROKEN 1

struct request {
	const struct keeper_msg *msg;
	int fd; /* taken in, or -1 */
	struct keeper_reply *reply;
	int *ret_fd; /* to hand out */
	int lent[CGROUP_VIEW_FDS]; /* to hand out, and keep */
	unsigned lent_count;
	struct err *err;
};

static int zygote_find(const struct keeper *k, uint32_t gen)
{
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		if (k->zygotes[i].pidfd >= 0 && k->zygotes[i].gen == gen)
			return (int)i;
	return -1;
}

static struct zygote *zygote_free_entry(struct keeper *k)
{
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		if (k->zygotes[i].pidfd < 0)
			return &k->zygotes[i];
	return NULL;
}

/* A spec is a memfd that nobody can change any more; the zygote, not we, looks inside. */
static bool is_sealed_spec(int fd)
{
	const int need = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & need) == need && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct jail_spec);
}

static int on_zygote_start(struct keeper *k, struct request *q)
{
	struct zygote *z = zygote_free_entry(k);
	int pair[2];

	if (q->msg->gen <= k->last_gen || q->msg->gen - k->last_gen > GEN_STEP_MAX || !is_sealed_spec(q->fd))
		return BROKEN;
	k->last_gen = q->msg->gen;
	if (!z)
		return err_set(q->err, ERR_HOST, EUSERS, "zygote", "%u zygotes run already", KEEPER_ZYGOTES);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(q->err, ERR_HOST, errno, "zygote", "socketpair: %s", strerror(errno));
	_cleanup_close_ int theirs = pair[1];
	*q->ret_fd = pair[0];
	/* A start that failed in the middle leaves its entry taken until the loop has reaped the child. */
	int r = zygote_start(z, &k->lane, k->image_fd, q->fd, theirs, k->lifeline, k->mounts_fd, q->msg->gen, q->err);
	if (r < 0)
		*q->ret_fd = fd_close(*q->ret_fd);
	q->reply->pid = z->pid;
	q->reply->first_host_uid = k->lane.ranged ? k->lane.first_id + LANE_SLOTS : k->lane.uid;
	return r;
}

/* One that died by itself is gone already: what was asked for holds. */
static int on_zygote_stop(struct keeper *k, struct request *q)
{
	int i = zygote_find(k, q->msg->gen);

	if (q->msg->gen == 0 || q->msg->gen > k->last_gen)
		return BROKEN;
	if (i < 0)
		return 0;
	zygote_kill(&k->zygotes[i]);
	return 0;
}

/* PRIV: files that we opened, so that our rights count, go to a zygote of ours, which reads no byte of core's or a client's, and
 * with it to one jail, which closes them before it runs anything but our own code. 0: it is moved by us. */
static uint64_t groups_lend(struct keeper *k, const struct keeper_msg *msg)
{
	struct zygote_groups note = { .magic = ZYGOTE_MAGIC, .id = ++k->last_groups };
	int i = zygote_find(k, msg->gen), fds[ZYGOTE_GROUP_FDS];
	uint64_t id = 0;

	if (i < 0)
		return 0;
	note.count = cgroup_enter_open(k->slots[msg->slot], fds, ARRAY_LEN(fds));
	/* Full, because many jails were given up in a row: this one is moved. */
	if (note.count > 0 && fd_send(k->zygotes[i].groups, &note, sizeof(note), fds, note.count) == 0)
		id = note.id;
	for (unsigned n = 0; n < note.count; n++)
		fd_close(fds[n]);
	return id;
}

static int on_cgroup_new(struct keeper *k, struct request *q)
{
	const struct cgroup_limits *l = &q->msg->limits;

	/* Its id is the courier's. */
	if (k->courier_image >= 0 && q->msg->slot == LANE_COURIER_SLOT)
		return BROKEN;
	if (k->slots[q->msg->slot])
		return err_set(q->err, ERR_BUG, EEXIST, "cgroup", "slot %u is in use", q->msg->slot);
	if (l->memory_bytes < MEMORY_MIN || l->memory_bytes > MEMORY_MAX || l->pids < 1 || l->pids > PIDS_MAX ||
	    l->cpu_quota_pct < 1 || l->cpu_quota_pct > CPU_PCT_MAX)
		return err_set(q->err, ERR_CALLER, EINVAL, "cgroup", "limits out of range");
	q->reply->cgroup_kind = k->host.kind;
	q->reply->controllers = k->host.controllers;
	int r = cgroup_new(&k->host, q->msg->slot, l, &k->slots[q->msg->slot], q->err);
	if (r == 0)
		q->reply->groups = groups_lend(k, q->msg);
	return r;
}

/* Only what a zygote of ours cloned itself: its parent is one of them. */
static bool is_zygote_child(const struct keeper *k, pid_t pid)
{
	char path[48], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	const char *at = strstr(text, "\nPPid:");
	pid_t parent = at ? (pid_t)strtol(at + 6, NULL, 10) : 0;
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		if (parent > 0 && k->zygotes[i].pidfd >= 0 && k->zygotes[i].pid == parent)
			return true;
	return false;
}

static int jail_pid(const struct keeper *k, struct request *q, pid_t *ret)
{
	pid_t pid = pidfd_pid(q->fd);

	if (pid == -EBADF)
		return BROKEN;
	if (pid < 0)
		return err_set(q->err, ERR_HOST, ESRCH, "cgroup", "the jail has ended");
	if (pid == 0 || !is_zygote_child(k, pid))
		return err_set(q->err, ERR_BUG, EPERM, "cgroup", "that process is no child of a zygote");
	*ret = pid;
	return 0;
}

static int on_cgroup_join(struct keeper *k, struct request *q)
{
	pid_t pid;
	int r = jail_pid(k, q, &pid);

	return r ? r : cgroup_join(k->slots[q->msg->slot], q->fd, pid, q->err);
}

static int on_cgroup_prove(struct keeper *k, struct request *q)
{
	pid_t pid;
	int r = jail_pid(k, q, &pid);

	return r ? r : cgroup_prove(k->slots[q->msg->slot], q->fd, pid, q->err);
}

static int on_cgroup_begin(struct keeper *k, struct request *q)
{
	struct cgroup *cg = k->slots[q->msg->slot];
	int r = cgroup_begin(cg, q->err);

	if (r == 0)
		q->lent_count = cgroup_view_fill(cg, &q->reply->view, q->lent);
	return r;
}

static int on_cgroup_read(struct keeper *k, struct request *q)
{
	return cgroup_read(k->slots[q->msg->slot], &q->reply->usage);
}

static int on_cgroup_kill(struct keeper *k, struct request *q)
{
	int r = cgroup_kill(k->slots[q->msg->slot]);

	return r < 0 ? err_set(q->err, ERR_HOST, -r, "cgroup", "no control group to kill by") : 0;
}

static int on_cgroup_del(struct keeper *k, struct request *q)
{
	int r = cgroup_free(&k->slots[q->msg->slot], DEL_WAIT_MS, &q->reply->usage);

	return r < 0 ? err_set(q->err, ERR_HOST, -r, "cgroup", "something in the control group is not dead yet") : 0;
}

static int on_ready(struct keeper *k, struct request *q UNUSED)
{
	k->core_ready = k->served = true;
	k->alive_ms = keeper_now_ms();
	log_event(LOG_NOTICE, "ready", LOG_FIELDS(LOG_NUM("core", k->core.pid)), "serving %s and %s", k->boot->config.agent.path,
		  k->boot->config.admin.path);
	notify_send("READY=1\nSTATUS=Serving %s and %s", k->boot->config.agent.path, k->boot->config.admin.path);
	return 0;
}

/* The watchdog of the service manager hears of us only as long as core lives. */
static int on_alive(struct keeper *k, struct request *q UNUSED)
{
	k->alive_ms = keeper_now_ms();
	notify_send("WATCHDOG=1");
	return 0;
}

static int on_audit(struct keeper *k, struct request *q)
{
	q->reply->pid = k->audit.pid;
	return k->audit_dir < 0 ? BROKEN : keeper_audit_pair(k, q->ret_fd, q->err);
}

/* Core may read what admin.sock may be told of. It gets a descriptor that cannot write, and learns no other name. */
static int audit_lend(struct keeper *k, struct request *q, bool before)
{
	if (k->audit_dir < 0)
		return BROKEN;
	int fd = keeper_audit_look(k, q->msg->number, before, &q->reply->number);
	if (fd < 0)
		return err_set(q->err, ERR_HOST, -fd, "audit", before && fd == -ENOENT ? "no older file" : "the audit log");
	*q->ret_fd = fd;
	return 0;
}

static int on_audit_look(struct keeper *k, struct request *q)
{
	return audit_lend(k, q, false);
}

static int on_audit_before(struct keeper *k, struct request *q)
{
	return audit_lend(k, q, true);
}

static int on_reload(struct keeper *k, struct request *q)
{
	int fd = keeper_reload_read(k);

	if (fd < 0)
		return err_set(q->err, ERR_HOST, -fd, "reload", "no memory for what was read");
	*q->ret_fd = fd;
	return 0;
}

static int on_reload_done(struct keeper *k, struct request *q UNUSED)
{
	if (!k->next_pending)
		return BROKEN;
	keeper_reload_take(k);
	return 0;
}

static int on_reload_refused(struct keeper *k, struct request *q UNUSED)
{
	keeper_reload_refused(k);
	return 0;
}

/* Lent: the next core gets the same. */
static int on_store(struct keeper *k, struct request *q)
{
	_Static_assert((int)STORE_FILES <= (int)CGROUP_VIEW_FDS, "one answer carries them all");
	int r = keeper_store_open(k, q->err);

	if (r < 0)
		return r;
	memcpy(q->lent, k->store_fd, sizeof(k->store_fd));
	q->lent_count = STORE_FILES;
	return 0;
}

static int on_courier(struct keeper *k, struct request *q)
{
	return k->courier_image < 0 ? BROKEN : keeper_courier_pair(k, q->ret_fd, q->err);
}

enum needs { NEEDS_NOTHING, NEEDS_SLOT, NEEDS_GROUP };

static const struct handler {
	int (*handle)(struct keeper *k, struct request *q);
	unsigned fds_in, fds_out;
	enum needs needs;
	bool daemon; /* not in a private supervisor */
} handlers[] = {
	[KP_ZYGOTE_START] = { on_zygote_start, 1, 1, NEEDS_NOTHING, false },
	[KP_ZYGOTE_STOP] = { on_zygote_stop, 0, 0, NEEDS_NOTHING, false },
	[KP_CGROUP_NEW] = { on_cgroup_new, 0, 0, NEEDS_SLOT, false },
	[KP_CGROUP_PROVE] = { on_cgroup_prove, 1, 0, NEEDS_GROUP, false },
	[KP_CGROUP_JOIN] = { on_cgroup_join, 1, 0, NEEDS_GROUP, false },
	[KP_CGROUP_BEGIN] = { on_cgroup_begin, 0, 0, NEEDS_GROUP, false },
	[KP_CGROUP_READ] = { on_cgroup_read, 0, 0, NEEDS_GROUP, false },
	[KP_CGROUP_KILL] = { on_cgroup_kill, 0, 0, NEEDS_GROUP, false },
	[KP_CGROUP_DEL] = { on_cgroup_del, 0, 0, NEEDS_GROUP, false },
	[KP_READY] = { on_ready, 0, 0, NEEDS_NOTHING, true },
	[KP_ALIVE] = { on_alive, 0, 0, NEEDS_NOTHING, true },
	[KP_AUDIT] = { on_audit, 0, 1, NEEDS_NOTHING, true },
	[KP_AUDIT_LOOK] = { on_audit_look, 0, 1, NEEDS_NOTHING, true },
	[KP_AUDIT_BEFORE] = { on_audit_before, 0, 1, NEEDS_NOTHING, true },
	[KP_RELOAD] = { on_reload, 0, 1, NEEDS_NOTHING, true },
	[KP_RELOAD_DONE] = { on_reload_done, 0, 0, NEEDS_NOTHING, true },
	[KP_STORE] = { on_store, 0, 0, NEEDS_NOTHING, false },
	[KP_COURIER] = { on_courier, 0, 1, NEEDS_NOTHING, true },
	[KP_RELOAD_REFUSED] = { on_reload_refused, 0, 0, NEEDS_NOTHING, true },
};

static int handle(struct keeper *k, const struct handler *h, struct request *q)
{
	if (h->needs != NEEDS_NOTHING && q->msg->slot >= LIMIT_SLOTS)
		return BROKEN;
	if (h->needs == NEEDS_GROUP && !k->slots[q->msg->slot])
		return err_set(q->err, ERR_BUG, ENOENT, "cgroup", "slot %u has no control group", q->msg->slot);
	return h->handle(k, q);
}

int keeper_serve(struct keeper *k)
{
	struct keeper_msg msg;
	struct err err = { 0 };
	unsigned came = 0;
	_cleanup_close_ int fd_in = -1;
	_cleanup_close_ int fd_out = -1;
	int r = fd_recv(k->core.sock, &msg, sizeof(msg), &fd_in, 1, &came, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return 0;
	if (r == 0 || r == -ECONNRESET)
		return 1;
	if (r < 0)
		return r;
	const struct handler *h = msg.kind < ARRAY_LEN(handlers) ? &handlers[msg.kind] : NULL;
	if (msg.magic != KEEPER_MAGIC || !h || !h->handle || (h->daemon && !k->daemon) || came != h->fds_in)
		return -EPROTO;

	struct keeper_reply reply = { .magic = KEEPER_MAGIC, .kind = msg.kind };
	struct request q = { .msg = &msg, .fd = fd_in, .reply = &reply, .ret_fd = &fd_out, .err = &err };
	r = handle(k, h, &q);
	if (r == BROKEN)
		return -EPROTO;
	reply.err = -r;
	if (r < 0)
		snprintf(reply.op, sizeof(reply.op), "%.*s", (int)sizeof(reply.op) - 1, err.detail);
	if (r < 0)
		r = fd_send(k->core.sock, &reply, sizeof(reply), NULL, 0);
	else if (q.lent_count > 0)
		r = fd_send(k->core.sock, &reply, sizeof(reply), q.lent, q.lent_count);
	else
		r = fd_send(k->core.sock, &reply, sizeof(reply), &fd_out, h->fds_out);
	return r == -EPIPE || r == -ECONNRESET ? 1 : r;
}
