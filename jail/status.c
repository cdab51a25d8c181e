/* Records on the status socket. Plain read() and write(): every filter allows
 * them, while a profile without sockets refuses sendmsg(); on SOCK_SEQPACKET
 * each is one whole message (unix(7)). The statics are one process' own: the
 * zygote never opens a status socket, each jail opens exactly one. */
#include "jail/status.h"

#include <string.h>
#include <time.h>

#define EXIT_SETUP_FAILED 6 /* DESIGN's status for setup_failed; core reads the record, not this */

static int status_fd = -1;
static enum stage current;
static uint64_t entered_ns;
static uint64_t spent_ns[STAGE_COUNT];

static const char *const stage_names[STAGE_COUNT] = {
#define X(id, name) [id] = name,
	STAGE_LIST(X)
#undef X
};

/* Where a stage has no layer of its own, the one whose promise would be broken by going on. */
static const enum layer stage_layers[STAGE_COUNT] = {
	[STAGE_START] = LAYER_PID,
	[STAGE_GO] = LAYER_CGROUP,
	[STAGE_FDS] = LAYER_FDS,
	[STAGE_SESSION] = LAYER_SESSION,
	[STAGE_USER] = LAYER_USER,
	[STAGE_NAMES] = LAYER_UTS,
	[STAGE_NET] = LAYER_NET,
	[STAGE_MOUNT] = LAYER_MOUNT,
	[STAGE_RLIMIT] = LAYER_RLIMIT,
	[STAGE_PYTHON_FORK] = LAYER_PID,
	[STAGE_WARM] = LAYER_PID,
	[STAGE_PRIVS] = LAYER_PRIVS,
	[STAGE_CAPS] = LAYER_CAPS,
	[STAGE_LANDLOCK] = LAYER_LANDLOCK,
	[STAGE_SECCOMP] = LAYER_SECCOMP,
	[STAGE_VERIFY] = LAYER_SECCOMP,
	[STAGE_INIT] = LAYER_PID,
	[STAGE_PARK] = LAYER_SECCOMP,
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void stage_account(void)
{
	uint64_t now = now_ns();

	spent_ns[current] += now - entered_ns;
	entered_ns = now;
}

const char *stage_name(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_names[stage] : "unknown";
}

enum layer stage_layer(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_layers[stage] : LAYER_PID;
}

enum stage stage_current(void)
{
	return current;
}

void stage_enter(enum stage stage)
{
	stage_account();
	current = stage;
}

void status_open(int fd)
{
	status_fd = fd;
	current = STAGE_START;
	memset(spent_ns, 0, sizeof(spent_ns));
	entered_ns = now_ns();
}

void status_move(int fd)
{
	status_fd = fd;
}

void status_close(void)
{
	status_fd = fd_close(status_fd);
}

int status_send(struct status_rec *rec)
{
	ssize_t n;

	stage_account();
	rec->magic = STATUS_MAGIC;
	memcpy(rec->stage_ns, spent_ns, sizeof(rec->stage_ns));
	do
		n = write(status_fd, rec, sizeof(*rec));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	if ((size_t)n != sizeof(*rec)) {
		errno = EPROTO;
		return -1;
	}
	return 0;
}

void die_at(enum layer layer, const char *op, int err)
{
	struct status_rec rec = {
		.kind = STATUS_FAILED,
		.stage = (uint16_t)current,
		.err = err,
		.layer = (int32_t)layer,
		.listener_fd = -1,
	};

	for (size_t i = 0; i < sizeof(rec.op) - 1 && op[i]; i++)
		rec.op[i] = op[i];
	/* Nobody is left to tell when this fails too: the exit alone then says that no jail came up. */
	(void)!status_send(&rec);
	_exit(EXIT_SETUP_FAILED);
}

uint32_t status_wait(enum status_kind kind)
{
	struct status_rec rec;
	ssize_t n;

	do
		n = read(status_fd, &rec, sizeof(rec));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		_exit(EXIT_SETUP_FAILED); /* core is gone: no call will come */
	if (n < 0)
		die_at(stage_layer(current), "read status socket", errno);
	if ((size_t)n != sizeof(rec) || rec.magic != STATUS_MAGIC || rec.kind != kind)
		die_at(stage_layer(current), "read status socket: wrong record", EPROTO);
	return rec.degraded;
}
