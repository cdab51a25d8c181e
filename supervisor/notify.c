#include "supervisor/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

/* A manager that does not read must not stop us. */
#define SEND_MAX_S 1

static int notify_fd = -1;
static struct sockaddr_un manager = { .sun_family = AF_UNIX };
static socklen_t manager_len;

int notify_open(void)
{
	const char *at = secure_getenv("NOTIFY_SOCKET");
	size_t len = at ? strlen(at) : 0;

	if (!len)
		return 0;
	/* A path, or "@name" for the abstract name that begins with a NUL. */
	if ((at[0] != '/' && at[0] != '@') || len < 2 || len >= sizeof(manager.sun_path))
		return -EINVAL;
	memcpy(manager.sun_path, at, len);
	if (at[0] == '@')
		manager.sun_path[0] = '\0';
	manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (at[0] == '/'));
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)unsetenv("NOTIFY_SOCKET");
	if (notify_fd < 0)
		return -errno;
	(void)setsockopt(notify_fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = SEND_MAX_S }, sizeof(struct timeval));
	return 0;
}

void notify_send(const char *fmt, ...)
{
	char text[400];
	va_list args;

	if (notify_fd < 0)
		return;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n > 0)
		(void)sendto(notify_fd, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1, MSG_NOSIGNAL,
			     (struct sockaddr *)&manager, manager_len);
}
