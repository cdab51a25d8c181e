/* Methods that start, show and end calls. */
#include "supervisor/call.h"
#include "supervisor/metrics.h"
#include "supervisor/request.h"
#include "supervisor/session.h"

#include <string.h>

static void answer_invalid(const struct request *rq, const char *profile, const struct err *why)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	metrics_refused(rq->core, profile, OUTCOME_INVALID_ARGUMENTS);
	answer_refused(OUTCOME_INVALID_ARGUMENTS, profile, why, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* The caller's own bytes of the arguments, proven to be an object within bounds. */
static int take_args(const struct request *rq, struct call_request *cr, struct err *err)
{
	size_t start, len;
	struct json_error je;

	if (!json_find(rq->line, rq->len, "params.args", &start, &len, NULL)) {
		cr->args = "{}";
		cr->args_len = 2;
		return 0;
	}
	cr->args = rq->line + start;
	cr->args_len = len;
	if (len > LIMIT_ARGS_BYTES)
		return err_set(err, ERR_CALLER, E2BIG, "args", "the arguments are %zu bytes, more than the %u that a call may carry", len,
			       LIMIT_ARGS_BYTES);
	if (cr->args[0] != '{')
		return err_set(err, ERR_CALLER, EINVAL, "args", "the arguments are not a JSON object");
	if (json_check(cr->args, len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0)
		return err_set(err, ERR_CALLER, EINVAL, "args", "arguments, line %u column %u: %s", je.line, je.column, je.what);
	return 0;
}

static bool has(const struct request *rq, const char *path)
{
	size_t start, len;

	return json_find(rq->line, rq->len, path, &start, &len, NULL);
}

/* A session brings its profile; another one may be named only where no jail was built for the first. */
static int take_session_profile(const struct request *rq, const struct call_request *cr, struct profile **ret, struct err *err)
{
	const struct session *s = cr->session;
	int r = has(rq, "params.profile") || has(rq, "params.profile_text") ? request_profile(rq, ret, err) : 0;

	if (r < 0)
		return r;
	if (!*ret)
		*ret = profile_ref(s->profile);
	if (!s->keeps_state || (strcmp(profile_digest(*ret), profile_digest(s->profile)) == 0 && !cr->best_effort))
		return 0;
	profile_free(take_ptr(*ret));
	err_set(err, ERR_CALLER, EINVAL, "session", "session %s runs with profile %s, and no best effort", s->id, profile_name(s->profile));
	err_hint(err, "leave profile and best_effort out, or open a session with that profile");
	return -EINVAL;
}

static void method_run(const struct request *rq)
{
	struct call_request cr = { .best_effort = request_true(rq, "params.best_effort"),
				   .want_stages = request_true(rq, "params.stages"),
				   .stream = request_true(rq, "params.stream") };
	_cleanup_free_ char *body = request_string(rq, "params.body", &cr.body_len);
	struct profile *profile = NULL;
	struct err err;

	if (!body) {
		request_refuse_params(rq, "run needs a body (a string)");
		return;
	}
	if (cr.body_len > LIMIT_BODY_BYTES) {
		request_refuse_params(rq, "the body is larger than 1 MiB");
		return;
	}
	cr.body = body;
	if (has(rq, "params.session") && !(cr.session = request_session(rq)))
		return;
	if ((cr.session ? take_session_profile(rq, &cr, &profile, &err) : request_profile(rq, &profile, &err)) < 0) {
		request_refuse(rq, RPC_PARAMS, &err);
		return;
	}
	if (take_args(rq, &cr, &err) < 0) {
		answer_invalid(rq, profile_name(profile), &err);
		profile_free(profile);
		return;
	}
	call_start(rq->client, profile, &cr, rq->id, rq->id_len);
	profile_free(profile);
}

static const struct param params_run[] = { { "body", STRING_FIRST, "a string" },
					   { "args", NULL, NULL },
					   PARAMS_PROFILE,
					   { "best_effort", BOOL_FIRST, "true or false" },
					   { "stages", BOOL_FIRST, "true or false" },
					   { "stream", BOOL_FIRST, "true or false" },
					   { "session", STRING_FIRST, "a string" },
					   { 0 } };

const struct method methods_call[] = {
	{ "run", method_run, params_run, false },
	{ 0 },
};
