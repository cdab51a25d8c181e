#include "supervisor/drop.h"

#include <grp.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

static int failed(struct err *err, int code, const char *what)
{
	return err_set(err, ERR_HOST, code, "privilege", "%s: %s", what, strerror(code));
}

static int ids_drop(uid_t uid, struct err *err)
{
	/* PRIV: root's groups and ids go for good; uid is this role's in this lane and nobody else's. */
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return failed(err, errno, "cannot give up root");
	if (setuid(0) == 0 || setgid(0) == 0)
		return failed(err, EPERM, "root could be had again");
	return 0;
}

static int caps_drop(struct err *err)
{
	cap_t none = cap_init();
	int r = !none || cap_set_proc(none) < 0 ? failed(err, errno, "cannot give up capabilities") : 0;

	if (none)
		cap_free(none);
	return r;
}

int drop_privilege(bool as_root, uid_t uid, struct err *err)
{
	int r = as_root ? ids_drop(uid, err) : 0;

	if (r == 0)
		r = caps_drop(err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return failed(err, errno, "no_new_privs");
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : failed(err, EPERM, "no_new_privs does not hold");
}
