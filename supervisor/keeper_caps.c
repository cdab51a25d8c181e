/* The capabilities that the keeper keeps, and the proof that it has no others.
 * A plain list: what is not in it is gone from every set, bounding set included. */
#include "jail/base/fd.h"
#include "supervisor/keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>

#define KEEP_MAX 4

static bool sysctl_is(const char *path, char value)
{
	char text[16];

	return fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0 && text[0] == value;
}

static int keep_list(bool may_map, cap_value_t keep[KEEP_MAX])
{
	int n = 0;

	if (!may_map) {
		/* Root of a small user namespace maps its own 0 on, which the kernel ties to this one (verify_root_map). */
		if (geteuid() == 0)
			keep[n++] = CAP_SETFCAP;
		return n;
	}
	keep[n++] = CAP_SETUID; /* uid_map of a zygote: ids other than our own */
	keep[n++] = CAP_SETGID; /* gid_map likewise, without denying setgroups */
	keep[n++] = CAP_KILL;   /* core has an id of its own and may hang */
	/* Two distributions' switches forbid user namespaces to whoever lacks it. */
	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0') ||
	    sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		keep[n++] = CAP_SYS_ADMIN;
	return n;
	/* Knowingly not kept: DAC_OVERRIDE (the files under /sys/fs/cgroup and /proc that we write are our own uid's),
	 * SYS_PTRACE (we look only at children), SYS_RESOURCE (we lower and raise nothing that needs it), SETPCAP. */
}

static bool listed(cap_value_t cap, const cap_value_t *keep, int n)
{
	for (int i = 0; i < n; i++)
		if (keep[i] == cap)
			return true;
	return false;
}

static int sets_apply(const cap_value_t *keep, int n, struct err *err)
{
	cap_t caps = cap_init();
	int r = 0;

	if (!caps || (n > 0 && (cap_set_flag(caps, CAP_PERMITTED, n, keep, CAP_SET) < 0 ||
				cap_set_flag(caps, CAP_EFFECTIVE, n, keep, CAP_SET) < 0)) ||
	    cap_set_proc(caps) < 0)
		r = err_set(err, ERR_HOST, errno, "keeper", "cannot give up capabilities: %s", strerror(errno));
	if (caps)
		cap_free(caps);
	return r;
}

/* From the kernel, not from what we asked for. */
static int sets_verify(const cap_value_t *keep, int n, bool bounding, struct err *err)
{
	cap_t caps = cap_get_proc();

	if (!caps)
		return err_set(err, ERR_HOST, errno, "keeper", "cannot read capabilities: %s", strerror(errno));
	for (cap_value_t c = 0; CAP_IS_SUPPORTED(c); c++) {
		cap_flag_value_t p = CAP_SET, e = CAP_SET, i = CAP_SET;
		(void)cap_get_flag(caps, c, CAP_PERMITTED, &p);
		(void)cap_get_flag(caps, c, CAP_EFFECTIVE, &e);
		(void)cap_get_flag(caps, c, CAP_INHERITABLE, &i);
		bool want = listed(c, keep, n);
		if ((p == CAP_SET) == want && (e == CAP_SET) == want && i == CAP_CLEAR && cap_get_ambient(c) != CAP_SET &&
		    (!bounding || want || cap_get_bound(c) == CAP_CLEAR))
			continue;
		cap_free(caps);
		return err_set(err, ERR_HOST, EPERM, "keeper", "capability %d is not as it must be after the drop", (int)c);
	}
	cap_free(caps);
	return 0;
}

int keeper_caps_drop(bool may_map, struct err *err)
{
	cap_value_t keep[KEEP_MAX];
	int n = keep_list(may_map, keep);
	cap_flag_value_t may_bound = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps) {
		(void)cap_get_flag(caps, CAP_SETPCAP, CAP_EFFECTIVE, &may_bound);
		cap_free(caps);
	}
	(void)cap_reset_ambient();
	/* Without SETPCAP the bounding set stays; it only matters to an exec, and the keeper makes none. */
	for (cap_value_t c = 0; may_bound == CAP_SET && CAP_IS_SUPPORTED(c); c++)
		if (!listed(c, keep, n) && cap_drop_bound(c) < 0)
			return err_set(err, ERR_HOST, errno, "keeper", "cannot drop capability %d from the bounding set: %s",
				       (int)c, strerror(errno));
	int r = sets_apply(keep, n, err);
	return r < 0 ? r : sets_verify(keep, n, may_bound == CAP_SET, err);
}
