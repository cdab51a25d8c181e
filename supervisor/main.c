/* brigd: command line, then the keeper. */
#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/drop.h"
#include "supervisor/keeper.h"
#include "supervisor/cmdline.h"
#include "supervisor/policy.h"
#include "supervisor/profile_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifndef BRIG_VERSION
#define BRIG_VERSION "0.1"
#endif

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

static int complain(const struct err *err)
{
	fprintf(stderr, "brigd: %s: %s\n", err->where, err->detail);
	if (err->hint[0])
		fprintf(stderr, "brigd: hint: %s\n", err->hint);
	return err->class == ERR_HOST ? outcome_exit_status(OUTCOME_SETUP_FAILED) : EXIT_USAGE;
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
/* A daemon with a pool, sessions and a few dozen connections: below that zygotes and core run out in the middle of calls. */
#define FILES_MIN_DAEMON 1024
#define FILES_WANT 4096

/* Too few descriptors would show as the strangest failures later. The jails get their own limit. */
static int files_limit(bool daemon)
{
	const unsigned need = daemon ? FILES_MIN_DAEMON : FILES_MIN;
	struct rlimit l;

	/* A file size limit that our memfds meet is an error of that call, not our death. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	if (l.rlim_cur < FILES_WANT) {
		l.rlim_cur = l.rlim_max < FILES_WANT ? l.rlim_max : FILES_WANT;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	if (l.rlim_cur >= need)
		return 0;
	fprintf(stderr, "brigd: files: the limit of open files is %llu, at least %u are needed\n"
			"brigd: hint: raise it (ulimit -n, LimitNOFILE= of the service)\n",
		(unsigned long long)l.rlim_cur, need);
	return outcome_exit_status(OUTCOME_SETUP_FAILED);
}

/* Profiles are hostile until they are parsed, and this process may be root: it gives up what it can before. */
static int check(const struct cmdline *o)
{
	struct loaded l;
	struct err err = { 0 };
	struct policy *policy = NULL;
	size_t count = 0;
	int r = load_read(&o->from, &l, &err);

	if (r == 0)
		r = drop_privilege(false, 0, &err);
	struct profile_cache *cache = r == 0 ? profile_cache_new(l.profiles) : NULL;
	if (r == 0)
		r = cache ? profile_cache_fill(cache, &err) : err_set(&err, ERR_HOST, ENOMEM, "brigd", "no memory");
	while (r == 0 && profile_store_name(l.profiles, count))
		count++;
	if (r == 0)
		r = load_policy_parse(l.policy, &policy, &err);
	profile_cache_free(cache);
	policy_free(policy);
	if (r < 0) {
		(void)complain(&err);
		return EXIT_USAGE;
	}
	printf("OK: %s, %zu profiles in %s\n", l.config.path[0] ? l.config.path : "no configuration file, the defaults", count,
	       l.config.profiles_dir);
	load_done(&l);
	return 0;
}

static int print_config(const struct cmdline *o)
{
	struct loaded l;
	struct err err = { 0 };

	if (load_config(&o->from, &l, &err) < 0) {
		(void)complain(&err);
		return EXIT_USAGE;
	}
	(void)load_profiles(&o->from, &l, NULL); /* for the directory that would be read */
	config_print(&l.config, &l.origin, stdout);
	load_done(&l);
	return 0;
}

static int serve_private(const struct cmdline *o)
{
	struct keeper_boot boot = { .client_fd = o->private_fd, .client_pid = client_check(o->private_fd), .from = o->from };
	struct loaded l = { 0 };
	struct err err = { 0 };

	if (boot.client_pid < 0) {
		fprintf(stderr, "brigd: descriptor %d is not a connected stream socket; see brigd --help\n", o->private_fd);
		return EXIT_USAGE;
	}
	/* It has no sockets and no state: a host without a place for them is as good. */
	(void)config_defaults(&l.config, NULL);
	if (load_profiles(&o->from, &l, &err) < 0 || load_policy(&l, &err) < 0) {
		(void)complain(&err);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	boot.config = l.config;
	boot.config.warm = o->warm;
	boot.profiles = l.profiles;
	boot.policy = l.policy;
	int r = keeper_main(&boot);
	profile_store_free(boot.profiles);
	profile_store_free(boot.policy);
	return r;
}

static int serve(const struct cmdline *o)
{
	struct keeper_boot boot = { .client_fd = -1, .from = o->from };
	struct loaded l;
	struct err err = { 0 };

	if (load_read(&o->from, &l, &err) < 0)
		return complain(&err);
	boot.config = l.config;
	boot.profiles = l.profiles;
	boot.policy = l.policy;
	int r = keeper_main(&boot);
	profile_store_free(boot.profiles);
	profile_store_free(boot.policy);
	return r;
}

int main(int argc, char **argv)
{
	struct cmdline o;
	int r = cmdline_parse(argc, argv, &o);

	if (r)
		return r;
	if (o.help || o.version || o.print_config) {
		if (o.help)
			cmdline_help();
		else if (o.version)
			printf("brigd %s\n", BRIG_VERSION);
		else
			r = print_config(&o);
		return fflush(stdout) == 0 ? r : outcome_exit_status(OUTCOME_INTERNAL_ERROR);
	}
	standard_fds();
	if (o.check)
		return check(&o);
	r = files_limit(o.private_fd < 0);
	if (r)
		return r;
	return o.private_fd >= 0 ? serve_private(&o) : serve(&o);
}
