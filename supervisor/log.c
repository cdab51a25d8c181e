#include "supervisor/log.h"

#include "supervisor/log_line.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
/* The message alone, before escapes: an err's detail and hint, with room. */
#define MESSAGE_MAX 1024

/* One for each process, set before it forks or right after; nothing here has to be given back. */
static struct {
	enum log_format format;
	int level;
	int journal_fd;
	bool priorities;     /* standard error leads to the journal, too: a line there says its level */
	const char *process;
	unsigned dropped;
} g_log = { .format = LOG_TEXT, .level = LOG_INFO, .journal_fd = -1, .process = "" };

/* JOURNAL_STREAM=DEVICE:INODE is inherited by all; it speaks of our standard error only while that still is the same. */
static bool stderr_is_journal(void)
{
	const char *stream = secure_getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
	       st.st_ino == ino;
}

static int journal_open(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : fd_take(&fd);
}

void log_open(enum log_format format, int level, const char *journal)
{
	bool at_journal = stderr_is_journal();

	if (format == LOG_AUTO)
		format = at_journal ? LOG_JOURNAL : LOG_TEXT;
	g_log.journal_fd = fd_close(g_log.journal_fd);
	if (format == LOG_JOURNAL)
		g_log.journal_fd = journal_open(journal ? journal : JOURNAL_SOCKET);
	g_log.priorities = format == LOG_JOURNAL && at_journal;
	g_log.format = format;
	g_log.level = level;
}

void log_level_set(int level)
{
	g_log.level = level;
}

bool log_enabled(int level)
{
	return level <= g_log.level;
}

void log_process(const char *name)
{
	g_log.process = name;
}

int log_fd(void)
{
	return g_log.journal_fd;
}

/* A pipe or terminal whose reader stopped reads would hold us for as long as it likes: poll says that the whole line fits. */
static bool write_line(const char *text, size_t len)
{
	struct pollfd p = { STDERR_FILENO, POLLOUT, 0 };
	ssize_t n = send(STDERR_FILENO, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = poll(&p, 1, 0) == 1 && !(p.revents & (POLLERR | POLLNVAL)) ? write(STDERR_FILENO, text, len) : -1;
	return n == (ssize_t)len;
}

static bool write_entry(const struct log_entry *e)
{
	struct log_line line;
	char marked[4 + LOG_LINE_MAX];

	if (g_log.format == LOG_JSON) {
		log_line_json(&line, e);
		return write_line(line.data, line.len);
	}
	if (g_log.format == LOG_JOURNAL && g_log.journal_fd >= 0) {
		log_line_journal(&line, e);
		if (send(g_log.journal_fd, line.data, line.len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)line.len)
			return true;
	}
	log_line_text(&line, e);
	if (!g_log.priorities)
		return write_line(line.data, line.len);
	int n = snprintf(marked, sizeof(marked), "<%d>%.*s", e->level & LOG_PRIMASK, (int)line.len, line.data);
	return write_line(marked, (size_t)n);
}

static void log_write(int level, const char *event, const struct log_field *fields, const char *message)
{
	struct log_entry e = { .level = level,
			       .process = g_log.process,
			       .pid = getpid(),
			       .event = event,
			       .message = message,
			       .fields = fields,
			       .dropped = g_log.dropped };
	int saved = errno;

	clock_gettime(CLOCK_REALTIME, &e.time);
	g_log.dropped = write_entry(&e) ? 0 : g_log.dropped + 1;
	errno = saved;
}

void log_event(int level, const char *event, const struct log_field *fields, const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	if (!log_enabled(level))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	log_write(level, event, fields, message);
}

void log_err(int level, const char *event, const struct log_field *fields, const struct err *err)
{
	/* The caller's fields, then the hint; more than anyone gives. */
	struct log_field all[16];
	size_t n = 0;
	/* For people it stands on a line of its own. */
	bool apart = g_log.format == LOG_TEXT && err->hint[0];

	for (; fields->name && n < ARRAY_LEN(all) - 2; fields++)
		all[n++] = *fields;
	if (err->hint[0] && !apart)
		all[n++] = (struct log_field)LOG_STR("hint", err->hint);
	all[n] = (struct log_field)LOG_STR(NULL, NULL);
	log_event(level, event, all, "%s: %s", err->where, err->detail);
	if (apart)
		log_event(level, event, LOG_NONE, "hint: %s", err->hint);
}

bool log_gate_pass(struct log_gate *g, int64_t now_ms, unsigned *ret_held)
{
	if (now_ms - g->since_ms >= LOG_GATE_MS || g->since_ms == 0) {
		g->since_ms = now_ms;
		g->passed = 0;
	}
	if (g->passed >= LOG_GATE_BURST) {
		g->held++;
		return false;
	}
	g->passed++;
	*ret_held = g->held;
	g->held = 0;
	return true;
}
