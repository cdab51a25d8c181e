#include "supervisor/request.h"

#include "supervisor/profile_cache.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PROFILE "pure"

void request_refuse(const struct request *rq, int code, const struct err *err)
{
	client_answer_error(rq->client, rq->id, rq->id_len, code, err->detail, err->where, err->hint);
}

void request_refuse_params(const struct request *rq, const char *what)
{
	client_answer_error(rq->client, rq->id, rq->id_len, RPC_PARAMS, what, NULL, NULL);
}

void request_answer(const struct request *rq, const struct jbuf *b)
{
	if (b->failed)
		client_answer_error(rq->client, rq->id, rq->id_len, RPC_INTERNAL, "no memory for the answer", NULL, NULL);
	else
		client_answer(rq->client, rq->id, rq->id_len, b->data, b->len);
}

/* params.KEY as a string, NULL when absent or of another type. *ret_len may count NULs. */
char *request_string(const struct request *rq, const char *path, size_t *ret_len)
{
	size_t start, len;

	if (!json_find(rq->line, rq->len, path, &start, &len, NULL))
		return NULL;
	return json_string_dup(rq->line + start, len, ret_len);
}

bool request_true(const struct request *rq, const char *path)
{
	size_t start, len;

	return json_find(rq->line, rq->len, path, &start, &len, NULL) && len == 4 && memcmp(rq->line + start, "true", 4) == 0;
}

int request_profile(const struct request *rq, struct profile **ret, struct err *err)
{
	size_t name_len = 0, text_len = 0, path_len = 0;
	_cleanup_free_ char *name = request_string(rq, "params.profile", &name_len);
	_cleanup_free_ char *text = request_string(rq, "params.profile_text", &text_len);
	_cleanup_free_ char *path = request_string(rq, "params.profile_path", &path_len);

	if (name && strlen(name) != name_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile name holds a NUL");
	if (path && strlen(path) != path_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile's path holds a NUL");
	if (name && text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile and profile_text exclude each other");
	if (path && !text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile_path only names where profile_text is from");
	return profile_cache_get(rq->core->profiles, name ? name : DEFAULT_PROFILE, path ? path : "profile", text, text_len, ret, err);
}
