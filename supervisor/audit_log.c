/* The file: lines go to its end, and the disk has the room for those that must not fail before they are needed.
 *
 * A call that began must be able to end in the log, however full the disk is by then. So a begin is taken only when
 * the file system has set aside the blocks of one more end (fallocate(2) beyond the end of the file: they stay the
 * file's own, through the death of this process, too). Where it cannot, a full disk may hold an end back until there
 * is room again; the line waits in memory, and in core. */
#include "supervisor/audit_impl.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Room is asked for in steps: a system call for some hundred lines. */
#define RESERVE_STEP (256u << 10)
/* Lines that cannot be written yet. Core's bound on its own records is far below this. */
#define OUT_MAX (16u << 20)

int audit_log_open(struct audit_log *log, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*log = (struct audit_log){ .fd = fd, .next_fd = -1, .size = (uint64_t)st.st_size };
	jbuf_init(&log->out, OUT_MAX);
	return 0;
}

/* Somebody removed the file: what we write now nobody finds again. */
static int still_there(struct audit_log *log)
{
	struct stat st;

	if (fstat(log->fd, &st) < 0)
		return -errno;
	log->size = (uint64_t)st.st_size;
	return st.st_nlink > 0 ? 0 : -ENOENT;
}

int audit_log_reserve(struct audit_log *log, uint64_t more)
{
	uint64_t end = log->size + (log->out.len - log->out_sent) + more;
	int r = still_there(log);

	if (r < 0 || log->cannot_reserve || end <= log->reserved)
		return r;
	for (uint64_t step = RESERVE_STEP;; step = 0) {
		do
			r = fallocate(log->fd, FALLOC_FL_KEEP_SIZE, (off_t)log->size, (off_t)(end + step - log->size)) < 0 ? -errno : 0;
		while (r == -EINTR);
		if (r == 0)
			log->reserved = end + step;
		if (r == 0 || step == 0)
			break;
	}
	log->cannot_reserve = r == -EOPNOTSUPP || r == -ENOSYS;
	return log->cannot_reserve ? 0 : r;
}

static int write_out(struct audit_log *log)
{
	int r = still_there(log);

	while (r == 0 && log->out_sent < log->out.len) {
		ssize_t n = write(log->fd, log->out.data + log->out_sent, log->out.len - log->out_sent);
		if (n > 0) {
			log->out_sent += (size_t)n;
			log->size += (uint64_t)n;
			log->dirty = true;
		} else if (n == 0 || errno != EINTR) {
			r = n == 0 ? -EIO : -errno;
		}
	}
	if (r == 0)
		log->out.len = log->out_sent = 0;
	return r;
}

int audit_log_write(struct audit_log *log)
{
	int r = log->out.len > log->out_sent ? write_out(log) : 0;

	log->err = -r;
	return r;
}

int audit_log_sync(struct audit_log *log)
{
	int r = log->dirty && fdatasync(log->fd) < 0 ? -errno : 0;

	log->dirty = log->dirty && r < 0;
	log->sync_err = -r;
	return r;
}
