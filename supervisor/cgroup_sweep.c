/* What dead supervisors left: told from the living by their lane locks. */
#include "supervisor/cgroup_impl.h"

#include "jail/base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What a dead supervisor left is dead already in all but rare cases. */
#define SWEEP_WAIT_MS 500u

/* "<lane>.<slot>.<serial>" of our instance; the lane goes to ret. */
static bool name_lane(const struct cgroup_host *host, const char *name, char *ret, size_t cap)
{
	const char *dot = strchr(name, '.'), *dash = strchr(host->lane, '-');
	size_t instance = dash ? (size_t)(dash - host->lane) + 1 : 0;

	if (!dot || (size_t)(dot - name) >= cap || strncmp(name, host->lane, instance) != 0)
		return false;
	memcpy(ret, name, (size_t)(dot - name));
	ret[dot - name] = '\0';
	return ret[instance] != '\0' && strspn(ret + instance, "0123456789") == strlen(ret + instance);
}

static bool sweep_one(struct cgroup_host *host, const char *name)
{
	struct cgroup *cg = cgroup_alloc(host);
	bool opened = false;

	if (!cg)
		return false;
	snprintf(cg->name, sizeof(cg->name), "%.63s", name);
	for (int i = 0; i < CGROUP_DIRS; i++) {
		if (host->base[i] >= 0)
			cg->dir[i] = openat(host->base[i], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		opened = opened || cg->dir[i] >= 0;
	}
	if (opened && cgroup_free(&cg, SWEEP_WAIT_MS, NULL) == 0)
		return true;
	cgroup_close(cg);
	return false;
}

int cgroup_sweep(struct cgroup_host *host, bool (*lane_alive)(const char *lane, void *arg), void *arg)
{
	int swept = 0;

	for (int i = 0; i < CGROUP_DIRS; i++) {
		int fd = host->base[i] < 0 ? -1 : openat(host->base[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		if (!dir) {
			fd_close(fd);
			continue;
		}
		for (struct dirent *d; (d = readdir(dir));) {
			char lane[sizeof(host->lane)];
			if (d->d_type != DT_DIR || strlen(d->d_name) >= sizeof(host->hold))
				continue;
			if (strcmp(d->d_name, host->hold) == 0 || !name_lane(host, d->d_name, lane, sizeof(lane)))
				continue;
			/* Asked after the name was seen: who made it held the lane, so a free lane means a dead owner. */
			if (strcmp(lane, host->lane) != 0 && lane_alive(lane, arg))
				continue;
			swept += sweep_one(host, d->d_name);
		}
		closedir(dir);
	}
	return swept;
}
