/* Records on the status socket. Plain read() and write(): every filter allows
 * them, while a profile without sockets refuses sendmsg(); on SOCK_SEQPACKET
 * each is one whole message (unix(7)). The statics are one process' own: the
 * zygote never opens a status socket, each jail opens exactly one. */
#include "jail/status.h"

#include <string.h>
#include <time.h>

#define EXIT_SETUP_FAILED 6 /* as in OUTCOME_LIST; core reads the record, not this */

static int status_fd = -1;
static enum stage current;
static uint64_t entered_ns;
static uint64_t spent_ns[STAGE_COUNT];

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

	memcpy(rec.op, op, strnlen(op, sizeof(rec.op) - 1));
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
