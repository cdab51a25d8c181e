/* A group as core sees it: readable, nothing more. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <stdlib.h>

#define PEAK_BIT (1u << CGROUP_DIRS)

unsigned cgroup_view_fill(const struct cgroup *cg, struct cgroup_view *view, int fds[CGROUP_VIEW_FDS])
{
	unsigned n = 0;

	*view = (struct cgroup_view){ .kind = cg->ops == &cgroup_v2_ops ? CGROUP_V2 :
					      cg->ops		    ? CGROUP_V1 :
									CGROUP_NONE,
				      .peak_reset = cg->peak_reset,
				      .cpu_base_us = cg->cpu_base_us };
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (cg->dir[i] >= 0) {
			view->present |= 1u << i;
			fds[n++] = cg->dir[i];
		}
	if (cg->peak_fd >= 0) {
		view->present |= PEAK_BIT;
		fds[n++] = cg->peak_fd;
	}
	return n;
}

const char *cgroup_kind_name(enum cgroup_kind kind)
{
	static const char *const names[CGROUP_KIND_COUNT] = { "none", "v1", "v2" };

	return names[kind];
}

struct cgroup *cgroup_view_open(const struct cgroup_view *view, int *fds, unsigned count)
{
	struct cgroup_host host = { .kind = (enum cgroup_kind)view->kind };
	struct cgroup *cg = cgroup_alloc(&host);
	struct cgroup_usage unused;
	unsigned n = 0;

	if (!cg)
		return NULL;
	cg->host = NULL; /* the keeper's; reading needs none */
	cg->is_view = true;
	cg->peak_reset = view->peak_reset;
	cg->cpu_base_us = view->cpu_base_us;
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (view->present & (1u << i) && n < count)
			cg->dir[i] = fd_take(&fds[n++]);
	if (view->present & PEAK_BIT && n < count)
		cg->peak_fd = fd_take(&fds[n++]);
	if (!cg->ops || n != count || n != (unsigned)__builtin_popcount(view->present)) {
		cgroup_close(cg);
		return NULL;
	}
	/* Opens what there is; the directories have served then. */
	cgroup_view_read(cg, &unused);
	for (int i = 0; i < CGROUP_DIRS; i++)
		cg->dir[i] = fd_close(cg->dir[i]);
	return cg;
}

void cgroup_view_read(struct cgroup *view, struct cgroup_usage *usage)
{
	cgroup_usage_unknown(usage);
	view->ops->read(view, usage);
}

void cgroup_view_close(struct cgroup *view)
{
	if (view)
		cgroup_close(view);
}
