/* Core's own store: the files come from the keeper when a tool or an approval is first spoken of. */
#include "supervisor/core_state.h"
#include "supervisor/keeper_client.h"
#include "supervisor/store.h"

#include <errno.h>

static int files_fetch(struct core *core, struct err *err)
{
	struct keeper_msg msg = { .kind = KP_STORE };
	struct keeper_reply reply;
	int fds[STORE_FILES];
	int r = keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, fds, STORE_FILES, err);

	if (r == 0)
		r = store_files_serve(fds);
	else
		return r;
	return r < 0 ? err_set(err, ERR_HOST, -r, "registry", "this SQLite cannot be given files of ours") : 0;
}

int store_of(struct core *core, struct store **ret, struct err *err)
{
	int r = 0;

	if (!core->store && !core->store_files) {
		r = files_fetch(core, err);
		if (r < 0) {
			if (core->boot->config.state_dir[0])
				(void)err_wrap(err, "no registry in %.100s/" STORE_DIR, core->boot->config.state_dir);
			else
				err_set(err, ERR_HOST, ENOENT, "registry", "there is no usual place for a registry: HOME is not set");
			err_hint(err, "name a directory that brigd may write: state_dir of brigd.conf, or BRIG_STATE");
			return r;
		}
		core->store_files = true;
	}
	if (!core->store)
		r = store_open(&core->store, err);
	*ret = core->store;
	return r;
}
