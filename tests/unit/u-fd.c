/* Descriptors over sockets, whole reads and writes, sealed memory files. */
#include "jail/base/fd.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void pair(int sv[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
}

static void a_message_brings_its_descriptors_close_on_exec(void **state)
{
	int sv[2], fds[2], before = open_fds();
	unsigned n = 9;
	char buf[4];

	(void)state;
	pair(sv);
	assert_int_equal(fd_send(sv[0], "abcd", 4, (int[]){ sv[0] }, 1), 0);
	assert_int_equal(fd_recv(sv[1], buf, 4, fds, 2, &n, 0), 1);
	assert_memory_equal(buf, "abcd", 4);
	assert_int_equal(n, 1);
	assert_int_equal(fds[1], -1);
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	fd_close(fds[0]);
	fd_close(sv[0]);
	assert_int_equal(fd_recv(sv[1], buf, 4, fds, 2, &n, 0), 0);
	fd_close(sv[1]);
	assert_int_equal(open_fds(), before);
}

static void wrong_sizes_are_refused(void **state)
{
	char buf[8];
	int sv[2];

	(void)state;
	pair(sv);
	assert_int_equal(fd_send(sv[0], "abc", 3, NULL, 0), 0);
	assert_int_equal(fd_recv(sv[1], buf, 4, NULL, 0, NULL, 0), -EPROTO);
	assert_int_equal(fd_send(sv[0], "abcde", 5, NULL, 0), 0);
	assert_int_equal(fd_recv(sv[1], buf, 4, NULL, 0, NULL, 0), -EPROTO);
	assert_int_equal(fd_recv(sv[1], buf, 4, NULL, 0, NULL, MSG_DONTWAIT), -EAGAIN);
	fd_close(sv[0]);
	fd_close(sv[1]);
}

static void surplus_descriptors_are_closed_and_refused(void **state)
{
	int sv[2], many[FD_MSG_MAX], fds[2], before;
	char buf[1];

	(void)state;
	pair(sv);
	before = open_fds();
	for (int i = 0; i < FD_MSG_MAX; i++)
		many[i] = sv[0];
	assert_int_equal(fd_send(sv[0], "x", 1, many, FD_MSG_MAX), 0);
	assert_int_equal(fd_recv(sv[1], buf, 1, fds, 2, NULL, 0), -EPROTO);
	assert_int_equal(fds[0], -1);
	assert_int_equal(open_fds(), before);
	assert_int_equal(fd_send(sv[0], "x", 1, many, FD_MSG_MAX + 1), -EINVAL);
	fd_close(sv[0]);
	fd_close(sv[1]);
}

static void whole_reads_and_writes(void **state)
{
	char in[5] = "";
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(fd_write_all(p[1], "ab", 2), 0);
	assert_int_equal(fd_write_all(p[1], "cd", 2), 0);
	assert_int_equal(fd_read_all(p[0], in, 4), 0);
	assert_string_equal(in, "abcd");
	assert_int_equal(fd_write_all(p[1], "e", 1), 0);
	fd_close(p[1]);
	assert_int_equal(fd_read_all(p[0], in, 4), -ENODATA);
	fd_close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fd_close(p[0]);
	assert_int_equal(fd_write_all(p[1], "x", 1), -EPIPE);
	fd_close(p[1]);
}

static void small_files_are_read_whole_or_cut(void **state)
{
	char buf[64], small[4];

	(void)state;
	assert_true(fd_read_file_at(AT_FDCWD, "/proc/self/comm", buf, sizeof(buf)) > 0);
	assert_int_equal(fd_read_file_at(AT_FDCWD, "/proc/self/comm", small, sizeof(small)), 3);
	assert_int_equal(strlen(small), 3);
	assert_int_equal(fd_read_file_at(AT_FDCWD, "/proc/self/nothing", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(fd_write_file_at(AT_FDCWD, "/proc/self/nothing", "x"), -ENOENT);
	assert_int_equal(fd_write_file_at(AT_FDCWD, "/proc/self/comm", "renamed"), 0);
	fd_read_file_at(AT_FDCWD, "/proc/self/comm", buf, sizeof(buf));
	assert_string_equal(buf, "renamed\n");
}

static void a_sealed_file_cannot_be_changed(void **state)
{
	char buf[6] = "";
	struct stat st;
	int fd = fd_sealed("test", "hello", 5);

	(void)state;
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 10), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(pread(fd, buf, 5, 0), 5);
	assert_string_equal(buf, "hello");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	fd_close(fd);
}

static void helpers_disarm_what_they_take(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy = fd;

	(void)state;
	assert_int_equal(fd_take(&fd), copy);
	assert_int_equal(fd, -1);
	errno = 77;
	assert_int_equal(fd_close(copy), -1);
	assert_int_equal(fd_close(-1), -1);
	assert_int_equal(errno, 77);
}

static void flags_can_be_changed(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fd_cloexec_off(fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	assert_int_equal(fd_nonblock(fd), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	fd_close(fd);
	assert_int_equal(fd_nonblock(fd), -EBADF);
	assert_int_equal(fd_cloexec_off(fd), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_brings_its_descriptors_close_on_exec),
		cmocka_unit_test(wrong_sizes_are_refused),
		cmocka_unit_test(surplus_descriptors_are_closed_and_refused),
		cmocka_unit_test(whole_reads_and_writes),
		cmocka_unit_test(small_files_are_read_whole_or_cut),
		cmocka_unit_test(a_sealed_file_cannot_be_changed),
		cmocka_unit_test(helpers_disarm_what_they_take),
		cmocka_unit_test(flags_can_be_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
