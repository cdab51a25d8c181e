/* Methods that show profiles. */
#include "supervisor/profile_cache.h"
#include "supervisor/request.h"

#include <stdlib.h>
#include <string.h>

static void method_profile_list(const struct request *rq)
{
	struct jbuf b;
	const char *name, *sep = "";

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "[");
	for (size_t i = 0; (name = profile_store_name(rq->core->boot->profiles, i)); i++) {
		struct profile *p;
		struct err err;

		if (!request_may_use(rq, name))
			continue;
		int r = profile_cache_get(rq->core->profiles, name, NULL, NULL, 0, &p, &err);
		jbuf_printf(&b, "%s{\"name\":", sep);
		sep = ",";
		jbuf_cstring(&b, name);
		jbuf_text(&b, r < 0 ? ",\"error\":" : ",\"digest\":");
		jbuf_cstring(&b, r < 0 ? err.detail : profile_digest(p));
		jbuf_text(&b, ",\"why\":");
		jbuf_cstring(&b, r < 0 ? "" : profile_why(p));
		jbuf_text(&b, "}");
		if (r == 0)
			profile_free(p);
	}
	jbuf_text(&b, "]");
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* As somebody wrote it: the caller's own, or the file of that name. */
static char *own_text(const struct request *rq, const char *name)
{
	size_t len = 0;
	char *sent = request_string(rq, "profile_text", &len);
	const char *stored = sent ? NULL : profile_store_text(rq->core->boot->profiles, name, &len);

	return stored ? strndup(stored, len) : sent;
}

static void method_profile_show(const struct request *rq)
{
	struct profile *p;
	struct err err;
	struct jbuf b;

	if (request_profile(rq, &p, &err) < 0) {
		request_refuse_profile(rq, &err);
		return;
	}
	_cleanup_free_ char *text = request_true(rq, "effective") ? profile_print(p) : own_text(rq, profile_name(p));
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"name\":");
	jbuf_cstring(&b, profile_name(p));
	jbuf_text(&b, ",\"digest\":");
	jbuf_cstring(&b, profile_digest(p));
	jbuf_text(&b, ",\"filter\":");
	jbuf_cstring(&b, profile_filter_digest(p));
	jbuf_text(&b, ",\"text\":");
	jbuf_cstring(&b, text ? text : "");
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
	profile_free(p);
}

static const struct param params_none[] = { { 0 } };
static const struct param params_show[] = { PARAMS_PROFILE, { "effective", BOOL_FIRST, "true or false" }, { 0 } };

const struct method methods_profile[] = {
	{ "profile.list", method_profile_list, params_none, false },
	{ "profile.show", method_profile_show, params_show, false },
	{ 0 },
};
