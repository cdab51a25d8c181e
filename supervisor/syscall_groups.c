#include "supervisor/syscall_groups.h"

#include "jail/base/compiler.h"

#include <string.h>

static const struct syscall_entry base_entries[] = {
	/* the end of the process and of its threads */
	{ "exit", CHECK_NONE, "end of a thread" },
	{ "exit_group", CHECK_NONE, "end of the process" },
	{ "restart_syscall", CHECK_NONE, "the kernel itself resumes an interrupted sleep with it" },
	/* memory */
	{ "brk", CHECK_NONE, "malloc" },
	{ "mmap", CHECK_MMAP, "malloc, arenas and shared objects; not writable and executable at once, no huge pages of the machine's pool" },
	{ "munmap", CHECK_NONE, "malloc" },
	{ "mremap", CHECK_NONE, "realloc of large blocks" },
	{ "mprotect", CHECK_MPROTECT, "guard pages, arenas, relro; never to executable" },
	{ "madvise", CHECK_MADVISE, "free, huge pages, prefault; no page merging, which is a side channel" },
	{ "msync", CHECK_NONE, "mmap.flush()" },
	{ "membarrier", CHECK_MEMBARRIER, "used by some allocators and runtimes; own process only" },
	/* locks and threads that exist already */
	{ "futex", CHECK_NONE, "locks; the interpreter lock even with one thread" },
	{ "set_tid_address", CHECK_NONE, "start of a program" },
	{ "set_robust_list", CHECK_NONE, "start of a program or thread" },
	{ "rseq", CHECK_NONE,
	  "start of a thread: registered before the filter in the first one, glibc aborts where a later one cannot be" },
	{ "arch_prctl", CHECK_ARCH_PRCTL, "thread pointer at the start of a program" },
	{ "prctl", CHECK_PRCTL, "thread name and questions; nothing that loosens the jail" },
	{ "gettid", CHECK_NONE, "threading.get_native_id()" },
	{ "sched_yield", CHECK_NONE, "locks" },
	{ "sched_getaffinity", CHECK_NONE, "os.cpu_count(), os.sched_getaffinity()" },
	{ "sched_getparam", CHECK_NONE, "pthread attributes" },
	{ "sched_getscheduler", CHECK_NONE, "pthread attributes" },
	{ "sched_get_priority_max", CHECK_NONE, "pthread attributes" },
	{ "sched_get_priority_min", CHECK_NONE, "pthread attributes" },
	{ "getcpu", CHECK_NONE, "allocators" },
	/* time */
	{ "clock_gettime", CHECK_NONE, "time; mostly answered without a call" },
	{ "clock_getres", CHECK_NONE, "time.get_clock_info()" },
	{ "gettimeofday", CHECK_NONE, "time" },
	{ "time", CHECK_NONE, "time" },
	{ "nanosleep", CHECK_NONE, "sleep" },
	{ "clock_nanosleep", CHECK_NONE, "time.sleep()" },
	{ "getrusage", CHECK_NONE, "resource.getrusage(), time.process_time()" },
	{ "getitimer", CHECK_NONE, "signal.getitimer()" },
	{ "setitimer", CHECK_NONE, "signal.setitimer(); its signals are fixed" },
	{ "alarm", CHECK_NONE, "signal.alarm()" },
	{ "pause", CHECK_NONE, "signal.pause()" },
	/* signals: never SIGSYS or SIGXFSZ, so that one is the filter's own word and the other the file size limit's */
	{ "rt_sigaction", CHECK_NONE, "signal handlers" },
	{ "rt_sigprocmask", CHECK_NONE, "signal masks" },
	{ "rt_sigreturn", CHECK_NONE, "return from a handler" },
	{ "rt_sigpending", CHECK_NONE, "signal.sigpending()" },
	{ "rt_sigsuspend", CHECK_NONE, "signal.sigwait()" },
	{ "rt_sigtimedwait", CHECK_NONE, "signal.sigtimedwait()" },
	{ "sigaltstack", CHECK_NONE, "faulthandler" },
	{ "kill", CHECK_SIGNAL1, "signals to processes of the same jail" },
	{ "tkill", CHECK_SIGNAL1, "raise() of older C libraries" },
	{ "tgkill", CHECK_SIGNAL2, "raise(), abort(), pthread_kill()" },
	/* who and where am I */
	{ "getpid", CHECK_NONE, "identity" },
	{ "getppid", CHECK_NONE, "identity" },
	{ "getuid", CHECK_NONE, "identity" },
	{ "geteuid", CHECK_NONE, "identity" },
	{ "getgid", CHECK_NONE, "identity" },
	{ "getegid", CHECK_NONE, "identity" },
	{ "getresuid", CHECK_NONE, "identity" },
	{ "getresgid", CHECK_NONE, "identity" },
	{ "getgroups", CHECK_NONE, "identity" },
	{ "getpgrp", CHECK_NONE, "identity" },
	{ "getpgid", CHECK_NONE, "identity" },
	{ "getsid", CHECK_NONE, "identity" },
	{ "getpriority", CHECK_NONE, "os.getpriority()" },
	{ "capget", CHECK_NONE, "shows that there are none" },
	{ "uname", CHECK_NONE, "platform; the names in it are the jail's own" },
	{ "getrlimit", CHECK_NONE, "resource.getrlimit()" },
	{ "setrlimit", CHECK_SETRLIMIT,
	  "lowering only, hard limits hold; not core (0 bytes let a piped dump through), not file size (it would forge limits_hit)" },
	{ "prlimit64", CHECK_PRLIMIT, "the same two calls of today's C library; own process only" },
	{ "personality", CHECK_PERSONALITY, "the question, never the change: it can switch address randomisation off" },
	{ "getrandom", CHECK_NONE, "random, secrets, uuid" },
	/* descriptors that are there already: output, result, pipes */
	{ "read", CHECK_NONE, "the request; every file" },
	{ "readv", CHECK_NONE, "os.readv()" },
	{ "write", CHECK_NONE, "output and result" },
	{ "writev", CHECK_NONE, "os.writev()" },
	{ "close", CHECK_NONE, "descriptors" },
	{ "close_range", CHECK_NONE, "subprocess, before a program starts" },
	{ "lseek", CHECK_NONE, "io" },
	{ "dup", CHECK_NONE, "descriptors" },
	{ "dup2", CHECK_NONE, "descriptors" },
	{ "dup3", CHECK_NONE, "descriptors" },
	{ "fcntl", CHECK_FCNTL, "flags; no signal of the caller's choice, no leases; record locks answer 0 and are not made" },
	{ "ioctl", CHECK_IOCTL, "isatty, non-blocking; by request" },
	{ "fstat", CHECK_NONE, "io" },
	{ "poll", CHECK_NONE, "waiting" },
	{ "ppoll", CHECK_NONE, "waiting" },
	{ "select", CHECK_NONE, "waiting" },
	{ "pselect6", CHECK_NONE, "waiting" },
	/* the jail's own last steps, after the filter is on */
	{ "sendmsg", CHECK_NONE, "the status socket; connected sockets only, there are no others" },
	{ "sendto", CHECK_NONE, "the same" },
	{ "recvmsg", CHECK_NONE, "the same" },
	{ "recvfrom", CHECK_NONE, "the same" },
	{ "wait4", CHECK_NONE, "children, where there may be any" },
	{ "waitid", CHECK_NONE, "children, where there may be any" },
};

static const struct syscall_entry files_read_entries[] = {
	{ "open", CHECK_OPEN, "open()" },
	{ "openat", CHECK_OPENAT, "open()" },
	{ "stat", CHECK_NONE, "imports, pathlib" },
	{ "lstat", CHECK_NONE, "pathlib" },
	{ "newfstatat", CHECK_NONE, "imports, pathlib" },
	{ "statx", CHECK_NONE, "coreutils, newer C libraries" },
	{ "access", CHECK_NONE, "os.access()" },
	{ "faccessat", CHECK_NONE, "os.access()" },
	{ "readlink", CHECK_NONE, "os.path.realpath()" },
	{ "readlinkat", CHECK_NONE, "os.path.realpath()" },
	{ "getdents", CHECK_NONE, "os.listdir()" },
	{ "getdents64", CHECK_NONE, "os.listdir(), imports" },
	{ "getcwd", CHECK_NONE, "os.getcwd()" },
	{ "chdir", CHECK_NONE, "os.chdir()" },
	{ "fchdir", CHECK_NONE, "os.chdir()" },
	{ "statfs", CHECK_NONE, "shutil.disk_usage()" },
	{ "fstatfs", CHECK_NONE, "shutil.disk_usage()" },
	{ "pread64", CHECK_NONE, "sqlite3, shared objects" },
	{ "preadv", CHECK_NONE, "os.preadv()" },
	{ "preadv2", CHECK_RWF, "os.preadv(); no flag that tells or changes what the machine's page cache holds" },
	{ "fadvise64", CHECK_FADVISE, "os.posix_fadvise(), cat; not DONTNEED, which empties the machine's page cache" },
	{ "readahead", CHECK_NONE, "file reading" },
	{ "sendfile", CHECK_NONE, "shutil.copyfile()" },
	{ "copy_file_range", CHECK_NONE, "cp, os.copy_file_range()" },
	{ "getxattr", CHECK_NONE, "shutil.copystat()" },
	{ "lgetxattr", CHECK_NONE, "shutil.copystat()" },
	{ "fgetxattr", CHECK_NONE, "shutil.copystat()" },
	{ "listxattr", CHECK_NONE, "shutil.copystat() fails on any other answer" },
	{ "llistxattr", CHECK_NONE, "the same" },
	{ "flistxattr", CHECK_NONE, "the same" },
};

static const struct syscall_entry files_write_entries[] = {
	{ "creat", CHECK_MODE1, "open() of older programs" },
	{ "pwrite64", CHECK_NONE, "sqlite3" },
	{ "pwritev", CHECK_NONE, "os.pwritev()" },
	{ "pwritev2", CHECK_RWF, "os.pwritev()" },
	{ "mkdir", CHECK_NONE, "os.mkdir()" },
	{ "mkdirat", CHECK_NONE, "os.mkdir()" },
	{ "rmdir", CHECK_NONE, "os.rmdir()" },
	{ "unlink", CHECK_NONE, "os.unlink()" },
	{ "unlinkat", CHECK_NONE, "os.unlink(), shutil.rmtree()" },
	{ "rename", CHECK_NONE, "os.rename()" },
	{ "renameat", CHECK_NONE, "os.rename()" },
	{ "renameat2", CHECK_RENAME, "mv" },
	{ "link", CHECK_NONE, "named semaphores of multiprocessing" },
	{ "linkat", CHECK_NONE, "os.link()" },
	{ "symlink", CHECK_NONE, "os.symlink()" },
	{ "symlinkat", CHECK_NONE, "os.symlink()" },
	{ "mknod", CHECK_MKNOD, "os.mkfifo()" },
	{ "mknodat", CHECK_MKNODAT, "os.mkfifo()" },
	{ "truncate", CHECK_NONE, "os.truncate()" },
	{ "ftruncate", CHECK_NONE, "file.truncate(), shared memory" },
	{ "fallocate", CHECK_NONE, "os.posix_fallocate()" },
	{ "fsync", CHECK_IDLE,
	  "sqlite3; success without the call: what a jail writes is in memory, and on a file of the host each one flushes its disk" },
	{ "fdatasync", CHECK_IDLE, "the same" },
	{ "chmod", CHECK_MODE1, "os.chmod(), without set-id bits" },
	{ "fchmod", CHECK_MODE1, "tempfile, zipfile" },
	{ "fchmodat", CHECK_MODE2, "os.chmod()" },
	{ "umask", CHECK_NONE, "os.umask()" },
	{ "setxattr", CHECK_NONE, "cp and install fail on any answer but success and ENOTSUP" },
	{ "lsetxattr", CHECK_NONE, "the same" },
	{ "fsetxattr", CHECK_NONE, "the same" },
	{ "removexattr", CHECK_NONE, "the same" },
	{ "lremovexattr", CHECK_NONE, "the same" },
	{ "fremovexattr", CHECK_NONE, "the same" },
	{ "utime", CHECK_NONE, "os.utime()" },
	{ "utimes", CHECK_NONE, "os.utime()" },
	{ "futimesat", CHECK_NONE, "os.utime()" },
	{ "utimensat", CHECK_NONE, "os.utime(), shutil.copystat()" },
};

static const struct syscall_entry events_entries[] = {
	{ "pipe", CHECK_NONE, "os.pipe()" },
	{ "pipe2", CHECK_PIPE2, "os.pipe(); no watch queues" },
	{ "epoll_create", CHECK_NONE, "selectors" },
	{ "epoll_create1", CHECK_NONE, "asyncio, selectors" },
	{ "epoll_ctl", CHECK_NONE, "asyncio, selectors" },
	{ "epoll_wait", CHECK_NONE, "asyncio, selectors" },
	{ "epoll_pwait", CHECK_NONE, "asyncio, selectors" },
	{ "eventfd", CHECK_NONE, "os.eventfd()" },
	{ "eventfd2", CHECK_NONE, "os.eventfd()" },
	{ "timerfd_create", CHECK_NONE, "event loops; it sends no signal" },
	{ "timerfd_settime", CHECK_NONE, "event loops" },
	{ "timerfd_gettime", CHECK_NONE, "event loops" },
	{ "socketpair", CHECK_SOCKETPAIR,
	  "asyncio wakes itself with one; no datagram pair, for that could be sent to a socket in a mount" },
	{ "shutdown", CHECK_NONE, "ends of a pair" },
	{ "getsockname", CHECK_NONE, "socket objects" },
	{ "getpeername", CHECK_NONE, "socket objects" },
	{ "getsockopt", CHECK_NONE, "socket objects" },
	{ "setsockopt", CHECK_SOCKOPT, "buffers and time-outs; no packet filters" },
};

static const struct syscall_entry threads_entries[] = {
	{ "clone", CHECK_CLONE_THREAD, "pthread_create(), once clone3 has answered ENOSYS; threads only, no namespace" },
};

static const struct syscall_entry processes_entries[] = {
	{ "clone", CHECK_CLONE_CHILD, "fork(), posix_spawn(); no namespace, no other signal than SIGCHLD at the end" },
	{ "fork", CHECK_NONE, "fork()" },
	{ "vfork", CHECK_NONE, "subprocess" },
	{ "execve", CHECK_NONE, "subprocess; what may be executed is the mounts' choice" },
	{ "setsid", CHECK_NONE, "subprocess start_new_session; the PID namespace still ends it" },
	{ "setpgid", CHECK_NONE, "subprocess process_group, shells" },
	{ "pidfd_open", CHECK_NONE, "asyncio child watcher; processes of the same jail" },
	{ "pidfd_send_signal", CHECK_SIGNAL1, "signal.pidfd_send_signal(); processes of the same jail" },
	{ "setpriority", CHECK_NONE, "nice; lowering only" },
};

static const struct syscall_entry exec_memory_entries[] = {
	{ "mmap", CHECK_MMAP_EXEC, "ctypes callbacks and JIT compilers map writable and executable memory" },
	{ "mprotect", CHECK_NONE, "the same" },
	{ "pkey_mprotect", CHECK_NONE, "the same" },
	{ "pkey_alloc", CHECK_NONE, "the same" },
	{ "pkey_free", CHECK_NONE, "the same" },
};

static const struct syscall_entry sockets_ip_entries[] = {
	{ "socket", CHECK_SOCKET_IP, "TCP and UDP, IPv4 and IPv6; no raw, ping, packet, netlink, vsock, alg or SCTP" },
	{ "bind", CHECK_NONE, "servers" },
	{ "listen", CHECK_NONE, "servers" },
	{ "accept", CHECK_NONE, "servers" },
	{ "accept4", CHECK_NONE, "servers" },
	{ "connect", CHECK_NONE, "clients" },
	{ "sendmmsg", CHECK_NONE, "the resolver" },
	{ "recvmmsg", CHECK_NONE, "UDP" },
};

static const struct syscall_entry sockets_unix_entries[] = {
	{ "socket", CHECK_SOCKET_UNIX,
	  "multiprocessing.Manager; beware: a read-only mount does not stop connect() to a socket in it" },
	{ "bind", CHECK_NONE, "servers" },
	{ "listen", CHECK_NONE, "servers" },
	{ "accept", CHECK_NONE, "servers" },
	{ "accept4", CHECK_NONE, "servers" },
	{ "connect", CHECK_NONE, "clients" },
};

#define GROUP(table) table, ARRAY_LEN(table)
static const struct syscall_group groups[] = {
	{ "@base", "what any program needs to compute, keep time, write its result and end", GROUP(base_entries) },
	{ "@files-read", "open and look at files; what there is to see is the mounts' choice", GROUP(files_read_entries) },
	{ "@files-write", "make and change files; where is the mounts' choice", GROUP(files_write_entries) },
	{ "@events", "pipes, pairs and waiting, as asyncio does", GROUP(events_entries) },
	{ "@threads", "start threads", GROUP(threads_entries) },
	{ "@processes", "start processes and programs (with processes.subprocess)", GROUP(processes_entries) },
	{ "@exec-memory", "memory that is written and executed: ctypes callbacks, JIT (with require.mdwe off)",
	  GROUP(exec_memory_entries) },
	{ "@sockets-ip", "TCP and UDP inside the jail's own network (with network.mode)", GROUP(sockets_ip_entries) },
	{ "@sockets-unix", "named local sockets", GROUP(sockets_unix_entries) },
};

static const struct syscall_fixed fixed[] = {
	/* attacks: nothing that a tool does for its task calls these */
	{ "ptrace", FATE_ATTACK, "control of another process" },
	{ "process_vm_readv", FATE_ATTACK, "memory of another process" },
	{ "process_vm_writev", FATE_ATTACK, "memory of another process" },
	{ "process_madvise", FATE_ATTACK, "memory of another process" },
	{ "process_mrelease", FATE_ATTACK, "memory of another process" },
	{ "pidfd_getfd", FATE_ATTACK, "descriptors of another process" },
	{ "kcmp", FATE_ATTACK, "kernel addresses of another process" },
	{ "bpf", FATE_ATTACK, "code in the kernel" },
	{ "perf_event_open", FATE_ATTACK, "side channels, and a long record of kernel holes" },
	{ "userfaultfd", FATE_ATTACK, "stops the kernel half-way, to widen races" },
	{ "kexec_load", FATE_ATTACK, "another kernel" },
	{ "kexec_file_load", FATE_ATTACK, "another kernel" },
	{ "create_module", FATE_ATTACK, "code in the kernel" },
	{ "init_module", FATE_ATTACK, "code in the kernel" },
	{ "finit_module", FATE_ATTACK, "code in the kernel" },
	{ "delete_module", FATE_ATTACK, "code in the kernel" },
	{ "open_by_handle_at", FATE_ATTACK, "files past every mount" },
	{ "reboot", FATE_ATTACK, "the machine" },
	{ "swapon", FATE_ATTACK, "the machine" },
	{ "swapoff", FATE_ATTACK, "the machine" },
	{ "iopl", FATE_ATTACK, "hardware" },
	{ "ioperm", FATE_ATTACK, "hardware" },
	{ "modify_ldt", FATE_ATTACK, "segments of the 16-bit age" },

	/* their callers fall back on the older call, but only on ENOSYS */
	{ "clone3", FATE_ENOSYS, "its flags lie behind a pointer; the C library falls back on clone" },
	{ "openat2", FATE_ENOSYS, "its flags lie behind a pointer; callers fall back on openat" },
	{ "faccessat2", FATE_ENOSYS, "the C library falls back on faccessat" },
	{ "fchmodat2", FATE_ENOSYS, "the C library falls back on fchmodat" },
	{ "futex_waitv", FATE_ENOSYS, "callers fall back on futex" },
	{ "epoll_pwait2", FATE_ENOSYS, "callers fall back on epoll_pwait" },
	{ "io_uring_setup", FATE_ENOSYS, "it would carry calls past this filter; event loops do without" },
	{ "io_uring_enter", FATE_ENOSYS, "the same" },
	{ "io_uring_register", FATE_ENOSYS, "the same" },
	{ "execveat", FATE_ENOSYS, "it runs what has no path; the C library falls back on /proc" },
	{ "timer_create", FATE_ENOSYS, "its signal lies behind a pointer and could be SIGSYS; callers fall back on alarm" },
	{ "memfd_secret", FATE_ENOSYS, "memory that the kernel cannot reclaim" },

	/* refused whatever a profile says: the jail's own walls are made with them */
	{ "unshare", FATE_NEVER, "new namespaces" },
	{ "setns", FATE_NEVER, "other namespaces" },
	{ "mount", FATE_NEVER, "the root file system" },
	{ "umount2", FATE_NEVER, "the root file system" },
	{ "pivot_root", FATE_NEVER, "the root file system" },
	{ "chroot", FATE_NEVER, "the root file system" },
	{ "open_tree", FATE_NEVER, "the root file system" },
	{ "move_mount", FATE_NEVER, "the root file system" },
	{ "mount_setattr", FATE_NEVER, "the root file system" },
	{ "fsopen", FATE_NEVER, "new file systems" },
	{ "fsconfig", FATE_NEVER, "new file systems" },
	{ "fsmount", FATE_NEVER, "new file systems" },
	{ "fspick", FATE_NEVER, "new file systems" },
	{ "name_to_handle_at", FATE_NEVER, "handles of files, the first half of open_by_handle_at" },
	{ "seccomp", FATE_NEVER, "filters" },
	{ "capset", FATE_NEVER, "capabilities" },
	{ "setuid", FATE_NEVER, "ids" },
	{ "setgid", FATE_NEVER, "ids" },
	{ "setreuid", FATE_NEVER, "ids" },
	{ "setregid", FATE_NEVER, "ids" },
	{ "setresuid", FATE_NEVER, "ids" },
	{ "setresgid", FATE_NEVER, "ids" },
	{ "setfsuid", FATE_NEVER, "ids" },
	{ "setfsgid", FATE_NEVER, "ids" },
	{ "setgroups", FATE_NEVER, "ids" },
	{ "add_key", FATE_NEVER, "keyrings outlive the call" },
	{ "request_key", FATE_NEVER, "keyrings outlive the call" },
	{ "keyctl", FATE_NEVER, "keyrings outlive the call" },
	{ "memfd_create", FATE_NEVER, "programs without a path" },
	{ "mq_open", FATE_NEVER, "mq_notify can send any signal, SIGSYS too" },
	{ "mq_notify", FATE_NEVER, "its signal lies behind a pointer and could be SIGSYS" },
	{ "rt_sigqueueinfo", FATE_NEVER, "signals with a forged origin" },
	{ "rt_tgsigqueueinfo", FATE_NEVER, "signals with a forged origin" },
	{ "splice", FATE_NEVER, "pages of files in pipes: a record of kernel holes" },
	{ "vmsplice", FATE_NEVER, "pages of memory in pipes: a record of kernel holes" },
	{ "tee", FATE_NEVER, "pages in pipes: a record of kernel holes" },
	{ "settimeofday", FATE_NEVER, "the machine's clock" },
	{ "clock_settime", FATE_NEVER, "the machine's clock" },
	{ "adjtimex", FATE_NEVER, "the machine's clock" },
	{ "clock_adjtime", FATE_NEVER, "the machine's clock" },
	{ "syslog", FATE_NEVER, "the kernel's log" },
	{ "acct", FATE_NEVER, "the machine's accounting" },
	{ "quotactl", FATE_NEVER, "the machine's quotas" },
	{ "sethostname", FATE_NEVER, "names" },
	{ "setdomainname", FATE_NEVER, "names" },
	{ "vhangup", FATE_NEVER, "terminals" },
	{ "fanotify_init", FATE_NEVER, "file events of whole mounts" },
	{ "lookup_dcookie", FATE_NEVER, "the machine's profiler" },
	{ "remap_file_pages", FATE_NEVER, "obsolete, with a record of kernel holes" },
	{ "mincore", FATE_NEVER, "page cache of the machine: a side channel" },
	{ "times", FATE_NEVER, "ticks since the boot of the machine, past the time namespace" },
	{ "sysinfo", FATE_NEVER, "memory and task counts of the machine" },
};

const struct syscall_group *syscall_group_at(size_t i)
{
	return i < ARRAY_LEN(groups) ? &groups[i] : NULL;
}

const struct syscall_group *syscall_group_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	return NULL;
}

const struct syscall_fixed *syscall_fixed_at(size_t i)
{
	return i < ARRAY_LEN(fixed) ? &fixed[i] : NULL;
}

const struct syscall_fixed *syscall_fixed_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (strcmp(fixed[i].name, name) == 0)
			return &fixed[i];
	return NULL;
}

enum syscall_check syscall_check_of(const char *name)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++)
		for (size_t i = 0; i < groups[g].count; i++)
			if (strcmp(groups[g].entries[i].name, name) == 0)
				return groups[g].entries[i].check;
	return CHECK_NONE;
}
