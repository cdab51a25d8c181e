/* Core after its seal: what it must read it can, all else is shut, whoever it runs as. */
#include "supervisor/core_seal.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a sealed child saw; each bit is one thing that is as it must be. */
enum { READS_PROC = 1, READS_SYS = 2, NOT_ETC = 4, NOT_TMP = 8, NOT_TCP = 16, SAYS_SO = 32, ALL = 63 };

static int landlock_abi(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	int err = errno;

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : err;
}

static int tcp_error(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int look(void)
{
	int seen = 0;

	seen |= opens("/proc/self/status", O_RDONLY) == 0 ? READS_PROC : 0;
	seen |= opens("/sys/kernel", O_RDONLY | O_DIRECTORY) == 0 ? READS_SYS : 0;
	seen |= opens("/etc/passwd", O_RDONLY) == EACCES ? NOT_ETC : 0;
	seen |= opens("/tmp/brig-core-seal", O_WRONLY | O_CREAT | O_EXCL) == EACCES ? NOT_TMP : 0;
	seen |= landlock_abi() < 4 || tcp_error() == EACCES ? NOT_TCP : 0;
	seen |= core_seal_holds() ? SAYS_SO : 0;
	return seen;
}

static int child(int seal)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(seal && core_seal() < 0 ? 255 : look());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void sealed_core_reads_little_and_writes_nothing(void **state)
{
	(void)state;
	if (landlock_abi() < 1)
		SKIP_NEEDS("landlock");
	assert_int_equal(child(1), ALL);
}

static void without_the_seal_all_of_it_is_open(void **state)
{
	(void)state;
	int seen = child(0);
	unlink("/tmp/brig-core-seal");
	assert_int_equal(seen & ~(landlock_abi() < 4 ? NOT_TCP : 0), READS_PROC | READS_SYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_core_reads_little_and_writes_nothing),
		cmocka_unit_test(without_the_seal_all_of_it_is_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
