/* Methods of sessions. One belongs to the uid that opened it; over admin.sock all are seen and may be closed. */
#include "supervisor/request.h"
#include "supervisor/session.h"

#include <string.h>

/* A text of at most max bytes without a NUL. False: refused already. *ret stays NULL where there is none. */
static bool take_text(const struct request *rq, const char *name, size_t max, char **ret)
{
	size_t len = 0;
	struct err err;

	*ret = request_string(rq, name, &len);
	if (!*ret || (len <= max && strlen(*ret) == len))
		return true;
	err_set(&err, ERR_CALLER, EINVAL, "params", "%s is %s", name, len > max ? "too long" : "no text: it holds a NUL");
	if (len > max)
		err_hint(&err, "at most %zu bytes", max);
	request_refuse(rq, RPC_PARAMS, &err);
	return false;
}

/* An object of strings, as its own JSON text; within an answer it is one line like all. */
static bool take_labels(const struct request *rq, char **ret)
{
	struct json_member m;
	struct slice v;

	if (!request_find(rq, "labels", &v))
		return true;
	size_t at = v.at;
	while (json_member_next(rq->line, rq->len, &at, &m))
		if (rq->line[m.value] != '"') {
			request_refuse_params(rq, "labels is an object whose values are strings");
			return false;
		}
	if (v.len > SESSION_LABELS_MAX) {
		request_refuse_params(rq, "labels is larger than 4096 bytes");
		return false;
	}
	*ret = strndup(rq->line + v.at, v.len);
	return true;
}

static void method_open(const struct request *rq)
{
	_cleanup_free_ char *task = NULL, *user_id = NULL, *labels = NULL;
	struct profile *profile;
	struct err err;

	if (!take_text(rq, "task", SESSION_TASK_MAX, &task) || !take_text(rq, "user_id", SESSION_USER_MAX, &user_id) ||
	    !take_labels(rq, &labels))
		return;
	if (request_profile(rq, &profile, &err) < 0) {
		request_refuse_profile(rq, &err);
		return;
	}
	const struct session_request req = { task, user_id, labels, request_true(rq, "state") };
	session_open(rq->client, &req, profile, rq->id, rq->id_len);
	profile_free(profile);
}

static bool is_operator(const struct request *rq)
{
	return client_authority(rq->client) == AUTHORITY_ADMIN;
}

struct session *request_session(const struct request *rq)
{
	size_t len = 0;
	_cleanup_free_ char *id = request_string(rq, "session", &len);
	struct session *s = id && strlen(id) == len ? session_find(rq->core, client_uid(rq->client), id) : NULL;
	struct err err;

	if (s && s->state == SESSION_OPEN && !s->over)
		return s;
	if (!s) {
		err_set(&err, ERR_CALLER, ENOENT, "session", "no such session: %.40s", id ?: "");
		err_hint(&err, "session.open ('brig session open') gives one; sessions end with brigd, and belong to the user who opened them");
	} else {
		err_set(&err, ERR_CALLER, ESTALE, "session", "session %s %s: %s", s->id, s->state == SESSION_ENDED ? "has ended" : "is ending", s->why);
		err_hint(&err, "open a new one with session.open ('brig session open'); its state is gone");
	}
	request_refuse(rq, RPC_SESSION, &err);
	return NULL;
}

static struct session *find_any(const struct request *rq, const char *id)
{
	struct session *s;

	LIST_FOREACH(s, &rq->core->sessions, link)
		if (s->state == SESSION_OPEN && strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

static void method_close(const struct request *rq)
{
	size_t len = 0;
	_cleanup_free_ char *id = request_string(rq, "session", &len);
	struct session *s = id && is_operator(rq) && strlen(id) == len ? find_any(rq, id) : NULL;
	struct jbuf b;

	if (!id) {
		request_refuse_params(rq, "session.close needs a session (a string)");
		return;
	}
	if (!s)
		s = request_session(rq);
	if (!s)
		return;
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"session\":\"%s\",\"calls\":%llu}", s->id, (unsigned long long)s->calls_made);
	session_end(s, "it was closed%s", s->uid == client_uid(rq->client) ? "" : " by the operator");
	request_answer(rq, &b);
	jbuf_done(&b);
}

static void print_text(const char *key, const char *text, struct jbuf *b)
{
	if (!text)
		return;
	jbuf_printf(b, ",\"%s\":", key);
	jbuf_cstring(b, text);
}

static void print_session(const struct session *s, struct jbuf *b)
{
	uint64_t now = core_now_ns(), end = s->state == SESSION_ENDED ? s->ended_ns : now;

	jbuf_printf(b, "{\"session\":\"%s\",\"jail\":\"%s\",\"state\":\"%s\",\"profile\":", s->id, s->keeps_state ? "session" : "single",
		    s->state == SESSION_ENDED ? "ended" : s->calls > 0 ? "busy" : "idle");
	jbuf_cstring(b, profile_name(s->profile));
	jbuf_printf(b, ",\"uid\":%u,\"calls\":%llu,\"waiting\":%u,\"age_ms\":%llu,\"idle_ms\":%llu", s->uid, (unsigned long long)s->calls_made,
		    s->calls, (unsigned long long)((end - s->opened_ns) / 1000000),
		    (unsigned long long)(s->calls > 0 ? 0 : (end - s->used_ns) / 1000000));
	if (s->keeps_state)
		jbuf_printf(b, ",\"discarded_bytes\":%llu,\"idle_cpu_ms\":%llu", (unsigned long long)s->discarded,
			    (unsigned long long)session_idle_cpu_ms(s));
	print_text("task", s->task, b);
	print_text("user_id", s->user_id, b);
	if (s->labels) {
		jbuf_text(b, ",\"labels\":");
		jbuf_text(b, s->labels);
	}
	if (s->state == SESSION_ENDED)
		print_text("why", s->why, b);
	jbuf_text(b, "}");
}

static void method_list(const struct request *rq)
{
	const struct session *s;
	const char *sep = "";
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"sessions\":[");
	LIST_FOREACH(s, &rq->core->sessions, link) {
		if (s->state == SESSION_OPENING || !(is_operator(rq) || s->uid == client_uid(rq->client)))
			continue;
		jbuf_text(&b, sep);
		print_session(s, &b);
		sep = ",";
	}
	jbuf_text(&b, "]}");
	request_answer(rq, &b);
	jbuf_done(&b);
}

static const struct param params_none[] = { { 0 } };
static const struct param params_open[] = { { "task", STRING_FIRST, "a string" },
					    { "user_id", STRING_FIRST, "a string" },
					    { "labels", OBJECT_FIRST, "an object" },
					    { "state", BOOL_FIRST, "true or false" },
					    PARAMS_PROFILE,
					    { 0 } };
static const struct param params_close[] = { { "session", STRING_FIRST, "a string" }, { 0 } };

const struct method methods_session[] = {
	{ "session.open", method_open, params_open, false },
	{ "session.close", method_close, params_close, false },
	{ "session.list", method_list, params_none, false },
	{ 0 },
};
