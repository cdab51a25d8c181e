/* brigd: command line, then the keeper. */
#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "jail/base/version.h"
#include "supervisor/keeper.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PROFILES_INSTALLED "/usr/share/brig/profiles"

struct options {
	int private_fd;
	unsigned warm;
	const char *profiles; /* NULL: find them */
	bool help, version;
};

struct option_row {
	const char *name, *value, *help;
	bool (*set)(struct options *o, const char *value);
};

static bool number_parse(const char *text, unsigned max, unsigned *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno || *end || n > max)
		return false;
	*ret = (unsigned)n;
	return true;
}

static bool set_private(struct options *o, const char *value)
{
	unsigned fd;

	if (!number_parse(value, INT_MAX, &fd) || fd < 3)
		return false;
	o->private_fd = (int)fd;
	return true;
}

static bool set_warm(struct options *o, const char *value)
{
	return number_parse(value, LIMIT_SLOTS, &o->warm);
}

static bool set_profiles(struct options *o, const char *value)
{
	o->profiles = value;
	return *value != '\0';
}

static bool set_help(struct options *o, const char *value UNUSED)
{
	return o->help = true;
}

static bool set_version(struct options *o, const char *value UNUSED)
{
	return o->version = true;
}

static const struct option_row rows[] = {
	{ "--private", "FD", "serve the one client behind descriptor FD (3 or more), and end with it", set_private },
	{ "--warm", "N", "keep N jails of each profile ready (0 to 61; default 0: make each on demand)", set_warm },
	{ "--profiles", "DIR", "read profiles from DIR (default: beside build/, else " PROFILES_INSTALLED ")", set_profiles },
	{ "--version", NULL, "print the version", set_version },
	{ "--help", NULL, "print this", set_help },
};

static void help_print(void)
{
	printf("usage: brigd --private FD [--warm N] [--profiles DIR]\n\n"
	       "The supervisor: starts jails and limits, watches and ends them. `brig run` starts one of\n"
	       "its own; there is rarely a reason to start it by hand.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		printf("  %-11s %-4s %s\n", rows[i].name, rows[i].value ? rows[i].value : "", rows[i].help);
	printf("\nexamples:\n"
	       "  brig run tool.py --args '{\"x\": 1}'       what starts brigd in everyday use\n"
	       "  brigd --private 3 --warm 2                started with a connected stream socket as descriptor 3\n"
	       "  brigd --private 3 --profiles ./profiles   the same with profiles of your own\n"
	       "\nbrigd(8) shows a client in Python.\n");
}

static const struct option_row *row_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

static int usage_error(const char *what, const char *word)
{
	char safe[80];
	size_t n = 0;

	for (; *word && n < sizeof(safe) - 1; word++)
		safe[n++] = *word >= ' ' && *word < 0x7f ? *word : '?';
	safe[n] = '\0';
	fprintf(stderr, "brigd: %s \"%s\"; see brigd --help\n", what, safe);
	return -EXIT_USAGE;
}

static int options_parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		const struct option_row *row = row_find(argv[i], len);
		const char *value = argv[i][len] == '=' ? argv[i] + len + 1 : NULL;

		if (!row)
			return usage_error(argv[i][0] == '-' ? "unknown option" : "unexpected argument", argv[i]);
		if (!row->value && value)
			return usage_error("no value belongs to", row->name);
		if (row->value && !value && i + 1 < argc)
			value = argv[++i];
		if (row->value && !value)
			return usage_error("a value is missing after", row->name);
		if (!row->set(o, value ? value : ""))
			return usage_error("not a possible value:", value);
	}
	return 0;
}

/* Must be a connected stream socket; returns its maker's pid if that is our parent, 0 if not, -1 if unusable. */
static pid_t client_check(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);
	struct ucred cred;
	socklen_t cred_len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) < 0)
		return -1;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return cred.pid == getppid() ? cred.pid : 0;
}

/* ../profiles beside the directory that our binary lies in, where there is one. */
static int profiles_open(const char *wanted, char *path, size_t cap)
{
	ssize_t n;

	if (wanted) {
		snprintf(path, cap, "%s", wanted);
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	n = readlink("/proc/self/exe", path, cap - 1);
	path[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	}
	n = (ssize_t)strlen(path);
	snprintf(path + n, cap - (size_t)n, "/profiles");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, cap, "%s", PROFILES_INSTALLED);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int profiles_read(const struct options *o, struct profile_store **ret)
{
	char path[PATH_MAX];
	struct err err = { 0 };
	_cleanup_close_ int dir = profiles_open(o->profiles, path, sizeof(path));

	if (dir < 0) {
		fprintf(stderr, "brigd: cannot open the profiles in %s: %s; name them by --profiles DIR\n", path, strerror(errno));
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	if (profile_store_read(dir, path, ret, &err) < 0) {
		fprintf(stderr, "brigd: %s: %s\n", err.where, err.detail);
		if (err.hint[0])
			fprintf(stderr, "brigd: hint: %s\n", err.hint);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	return 0;
}

/* The three standard descriptors exist from here on, so that no socket of ours ever becomes one of them. */
static void standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO && fd_cloexec_off(fd) == 0);
	fd_close(fd);
}

/* The fixed poll sets of keeper and zygote alone need near a hundred; one running call takes ten in core. */
#define FILES_MIN  128
#define FILES_WANT 4096

/* Too few descriptors would show as the strangest failures later. The jails get their own limit. */
static int files_limit(void)
{
	struct rlimit l;

	/* A file size limit that our memfds meet is an error of that call, not our death. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	if (l.rlim_cur < FILES_WANT) {
		l.rlim_cur = l.rlim_max < FILES_WANT ? l.rlim_max : FILES_WANT;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	if (l.rlim_cur >= FILES_MIN)
		return 0;
	fprintf(stderr, "brigd: files: the limit of open files is %llu, at least %d are needed\n"
			"brigd: hint: raise it (ulimit -n, LimitNOFILE= of the service)\n",
		(unsigned long long)l.rlim_cur, FILES_MIN);
	return outcome_exit_status(OUTCOME_SETUP_FAILED);
}

int main(int argc, char **argv)
{
	struct options o = { .private_fd = -1 };
	struct keeper_boot boot = { 0 };
	struct err err = { 0 };
	int r = options_parse(argc, argv, &o);

	if (r < 0)
		return -r;
	if (o.help || o.version) {
		if (o.help)
			help_print();
		else
			printf("brigd %s\n", BRIG_VERSION);
		return fflush(stdout) == 0 ? 0 : outcome_exit_status(OUTCOME_INTERNAL_ERROR);
	}
	standard_fds();
	r = files_limit();
	if (r)
		return r;
	boot.client_fd = o.private_fd;
	boot.client_pid = o.private_fd >= 0 ? client_check(o.private_fd) : 0;
	if (config_defaults(&boot.config, &err) < 0 && o.private_fd < 0) {
		fprintf(stderr, "brigd: %s: %s\n", err.where, err.detail);
		return EXIT_USAGE;
	}
	boot.config.warm = o.warm;
	if (boot.client_pid < 0) {
		fprintf(stderr, "brigd: descriptor %d is not a connected stream socket; see brigd --help\n", o.private_fd);
		return EXIT_USAGE;
	}
	r = profiles_read(&o, &boot.profiles);
	if (r == 0)
		r = keeper_main(&boot);
	profile_store_free(boot.profiles);
	return r;
}
