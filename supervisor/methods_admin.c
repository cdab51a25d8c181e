/* Methods of admin.sock: what an operator may do with the whole supervisor. */
#include "supervisor/audit_record.h"
#include "supervisor/drain.h"
#include "supervisor/pool.h"
#include "supervisor/request.h"

static void method_drain(const struct request *rq)
{
	struct pending *pending;
	struct jbuf b;
	struct err err;
	bool off = request_false(rq, "on");

	if (!request_recorded(rq, AUDIT_DRAIN, NULL, off ? "off" : "on"))
		return;
	if (off) {
		if (!drain_end(rq->core)) {
			err_set(&err, ERR_CALLER, EBUSY, "drain", "this brigd is ending already");
			err_hint(&err, "start it again once it has ended");
			request_refuse(rq, RPC_PARAMS, &err);
			return;
		}
	} else {
		core_drain(rq->core);
		if (request_true(rq, "wait")) {
			pending = pending_new(rq->client, rq->id, rq->id_len);
			if (pending && drain_wait(rq->core, pending) < 0)
				client_answer_error(rq->client, rq->id, rq->id_len, RPC_INTERNAL, "no memory", NULL, NULL);
			return;
		}
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	drain_print(rq->core, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* The keeper reads the files again, core checks all and takes all or nothing. */
static void method_reload(const struct request *rq)
{
	struct err err = { 0 };
	struct jbuf b;
	unsigned profiles = 0;

	if (!request_recorded(rq, AUDIT_RELOAD, NULL, "asked for"))
		return;
	if (core_reload(rq->core, &err) < 0) {
		request_refuse(rq, RPC_PARAMS, &err);
		return;
	}
	while (profile_store_name(rq->core->boot->profiles, profiles))
		profiles++;
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"config\":");
	if (rq->core->boot->config.path[0])
		jbuf_cstring(&b, rq->core->boot->config.path);
	else
		jbuf_text(&b, "null");
	jbuf_printf(&b, ",\"profiles\":%u}", profiles);
	request_answer(rq, &b);
	jbuf_done(&b);
}

static void method_pool(const struct request *rq)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	pool_print(rq->core, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

static const struct param params_none[] = { { 0 } };
static const struct param params_drain[] = { { "on", BOOL_FIRST, "true or false" }, { "wait", BOOL_FIRST, "true or false" }, { 0 } };

const struct method methods_admin[] = {
	{ "drain", method_drain, params_drain, true },
	{ "reload", method_reload, params_none, true },
	{ "profile.reload", method_reload, params_none, true },
	{ "pool", method_pool, params_none, true },
	{ 0 },
};
