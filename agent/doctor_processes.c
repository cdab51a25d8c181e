#include "agent/doctor_processes.h"

#include "agent/question.h"
#include "jail/base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Sixteen zygotes, and three roles; a daemon that names more is none of ours. */
#define PROCESSES_MAX 32
#define CAPABILITY_BITS 41

struct process {
	bool seen;              /* /proc shows it under the name that it must have */
	double pid;
	long uid, gid;
	unsigned long long effective, permitted, inheritable, bounding, ambient;
	bool no_new_privs;
	long seccomp;            /* 0 none, 1 strict, 2 filter */
	long descriptors;        /* -1: we may not look, and it did not say */
	double landlock_abi;
	bool landlock_proven, seccomp_proven;
};

/* The field "Name:" of a status text as a number; -1 where there is none. */
static long long field(const char *status, const char *name, int base)
{
	char key[32];

	snprintf(key, sizeof(key), "\n%s:", name);
	const char *at = strstr(status, key);
	return at ? (long long)strtoull(at + strlen(key), NULL, base) : -1;
}

static long descriptors_count(double pid)
{
	char path[48];
	long n = 0;

	snprintf(path, sizeof(path), "/proc/%.0f/fd", pid);
	DIR *d = opendir(path);
	if (!d)
		return -1;
	for (const struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A pid of another PID namespace would be somebody else's here: only one that bears the name of its role is believed. The kernel cuts
 * names at 15 bytes. */
static bool name_fits(const char *status, const char *role)
{
	char want[32], is[32] = "";

	snprintf(want, sizeof(want), strcmp(role, "zygote") == 0 ? "%s:" : "brigd: %s", role);
	return sscanf(status, "Name:\t%31[^\n]", is) == 1 && strncmp(is, want, strlen(want)) == 0;
}

static void status_take(struct process *p, const char *status)
{
	p->seen = true;
	p->uid = (long)field(status, "Uid", 10);
	p->gid = (long)field(status, "Gid", 10);
	p->effective = (unsigned long long)field(status, "CapEff", 16);
	p->permitted = (unsigned long long)field(status, "CapPrm", 16);
	p->inheritable = (unsigned long long)field(status, "CapInh", 16);
	p->bounding = (unsigned long long)field(status, "CapBnd", 16);
	p->ambient = (unsigned long long)field(status, "CapAmb", 16);
	p->no_new_privs = field(status, "NoNewPrivs", 10) == 1;
	p->seccomp = (long)field(status, "Seccomp", 10);
}

static char *role_of(const struct call *c, unsigned i)
{
	char path[40];

	snprintf(path, sizeof(path), "supervisor.%u.role", i);
	return answer_text(c, path);
}

static double own_number(const struct call *c, unsigned i, const char *key)
{
	char path[60];

	snprintf(path, sizeof(path), "supervisor.%u.%s", i, key);
	return answer_number(c, path);
}

static bool own_true(const struct call *c, unsigned i, const char *key)
{
	char path[60];

	snprintf(path, sizeof(path), "supervisor.%u.%s", i, key);
	return answer_true(c, path);
}

static void process_read(const struct call *c, unsigned i, const char *role, struct process *p)
{
	char path[48], status[4096];

	*p = (struct process){ .pid = own_number(c, i, "pid"), .descriptors = -1, .landlock_abi = own_number(c, i, "landlock_abi") };
	p->landlock_proven = own_true(c, i, "landlock_proven");
	p->seccomp_proven = own_true(c, i, "seccomp_proven");
	snprintf(path, sizeof(path), "/proc/%.0f/status", p->pid);
	if (p->pid < 1 || fd_read_file_at(AT_FDCWD, path, status, sizeof(status)) < 0 || !name_fits(status, role))
		return;
	status_take(p, status);
	p->descriptors = descriptors_count(p->pid);
	if (p->descriptors < 0 && own_number(c, i, "descriptors") > 0)
		p->descriptors = (long)own_number(c, i, "descriptors");
}

unsigned processes_count(const struct call *c)
{
	unsigned n = 0;

	for (; n < PROCESSES_MAX; n++) {
		_cleanup_free_ char *role = role_of(c, n);
		if (!role)
			break;
	}
	return n;
}

void capabilities_print(char *buf, size_t cap, unsigned long long mask, unsigned last)
{
	/* What a keeper may keep (supervisor/keeper_caps.c); others would be a surprise, and show by number. */
	static const char *const names[CAPABILITY_BITS] = {
		[1] = "dac_override", [5] = "kill", [6] = "setgid", [7] = "setuid", [21] = "sys_admin", [31] = "setfcap"
	};
	size_t len = 0;

	snprintf(buf, cap, "%s", mask ? "all" : "none");
	if (!mask || mask == (2ull << last) - 1)
		return;
	for (unsigned bit = 0; bit < 64 && len < cap; bit++) {
		if (!(mask >> bit & 1))
			continue;
		const char *sep = len ? " " : "";
		int n = bit < CAPABILITY_BITS && names[bit] ? snprintf(buf + len, cap - len, "%s%s", sep, names[bit]) :
							      snprintf(buf + len, cap - len, "%s#%u", sep, bit);
		len += (size_t)n;
	}
}

/* The highest capability of this kernel. */
static unsigned capability_last(void)
{
	char text[16];

	return fd_read_file_at(AT_FDCWD, "/proc/sys/kernel/cap_last_cap", text, sizeof(text)) > 0
		       ? (unsigned)strtoul(text, NULL, 10)
		       : CAPABILITY_BITS - 1;
}

/* A process in a user namespace of its own has its capabilities there and nowhere else; its id map tells. */
static bool has_own_userns(double pid)
{
	char path[48], theirs[512], ours[512];

	snprintf(path, sizeof(path), "/proc/%.0f/uid_map", pid);
	return fd_read_file_at(AT_FDCWD, path, theirs, sizeof(theirs)) > 0 &&
	       fd_read_file_at(AT_FDCWD, "/proc/self/uid_map", ours, sizeof(ours)) > 0 && strcmp(theirs, ours) != 0;
}

static const char *seccomp_word(long mode)
{
	return mode == 0 ? "none" : mode == 1 ? "strict" : mode == 2 ? "filter" : "unknown";
}

static void capabilities_of(const struct process *p, char *buf, size_t cap)
{
	capabilities_print(buf, cap, p->effective | p->permitted, capability_last());
	if (p->effective && has_own_userns(p->pid))
		snprintf(buf + strlen(buf), cap - strlen(buf), ", own userns");
}

static void row_show(const struct show *s, const char *role, const struct process *p)
{
	char caps[200], landlock[24] = "-", fds[24] = "-";

	if (!p->seen) {
		fprintf(s->out, "  %-8s%8.0f  not to be seen from here\n", role, p->pid);
		return;
	}
	capabilities_of(p, caps, sizeof(caps));
	if (p->landlock_proven)
		snprintf(landlock, sizeof(landlock), "ABI %.0f", p->landlock_abi);
	if (p->descriptors >= 0)
		snprintf(fds, sizeof(fds), "%ld", p->descriptors);
	fprintf(s->out, "  %-8s%8.0f %11ld  %-4s%-8s%-10s%-5s%s\n", role, p->pid, p->uid, p->no_new_privs ? "yes" : "no",
		seccomp_word(p->seccomp), landlock, fds, caps);
}

void processes_show(const struct show *s, const struct call *c)
{
	struct process p;

	fprintf(s->out, "processes of this daemon\n  %-8s%8s %11s  %-4s%-8s%-10s%-5s%s\n", "ROLE", "PID", "UID", "NNP",
		"SECCOMP", "LANDLOCK", "FDS", "CAPABILITIES");
	for (unsigned i = 0; i < processes_count(c); i++) {
		_cleanup_free_ char *role = role_of(c, i);

		process_read(c, i, role, &p);
		row_show(s, role, &p);
	}
}

static void facts_print(const struct process *p, struct jbuf *b)
{
	char caps[200];

	capabilities_of(p, caps, sizeof(caps));
	jbuf_printf(b, ",\"uid\":%ld,\"gid\":%ld,\"capabilities\":\"%s\"", p->uid, p->gid, caps);
	jbuf_printf(b, ",\"cap_effective\":\"%016llx\",\"cap_permitted\":\"%016llx\",\"cap_inheritable\":\"%016llx\"",
		    p->effective, p->permitted, p->inheritable);
	jbuf_printf(b, ",\"cap_bounding\":\"%016llx\",\"cap_ambient\":\"%016llx\",\"no_new_privs\":%s,\"seccomp\":\"%s\"",
		    p->bounding, p->ambient, p->no_new_privs ? "true" : "false", seccomp_word(p->seccomp));
	if (p->descriptors >= 0)
		jbuf_printf(b, ",\"descriptors\":%ld", p->descriptors);
	else
		jbuf_text(b, ",\"descriptors\":null");
}

void processes_print(const struct call *c, struct jbuf *b)
{
	struct process p;

	jbuf_text(b, "[");
	for (unsigned i = 0; i < processes_count(c); i++) {
		_cleanup_free_ char *role = role_of(c, i);

		process_read(c, i, role, &p);
		jbuf_text(b, i ? ",{\"role\":" : "{\"role\":");
		jbuf_cstring(b, role);
		jbuf_printf(b, ",\"pid\":%.0f,\"seen\":%s", p.pid, p.seen ? "true" : "false");
		if (p.seen)
			facts_print(&p, b);
		jbuf_printf(b, ",\"landlock\":{\"abi\":%.0f,\"proven\":%s},\"seccomp_proven\":%s}", p.landlock_abi,
			    p.landlock_proven ? "true" : "false", p.seccomp_proven ? "true" : "false");
	}
	jbuf_text(b, "]");
}
