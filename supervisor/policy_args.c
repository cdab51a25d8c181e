/* Predicates on arguments: how they are read, and how one is judged. */
#include "supervisor/policy_impl.h"

#include "supervisor/decimal.h"
#include "supervisor/policy_path.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKSPACE "@workspace"
/* Nested groups, and memory of one match in KiB. */
#define PATTERN_NEST_MAX 50u
#define PATTERN_HEAP_KIB 256u

static const char *const names[] = {
#define X(id, name) [id] = name,
	PRED_LIST(X)
#undef X
};

/* ---- reading ---- */

/* Below the workspace, or absolute; in the one form that is compared. */
static int read_place(const struct policy_reader *r, const cJSON *item, struct pred *p)
{
	const char *text = cJSON_IsString(item) ? item->valuestring : "", *path = text;
	char canonical[PATH_MAX], room[96];
	bool ours = strncmp(text, WORKSPACE, strlen(WORKSPACE)) == 0;

	if (ours)
		path = text[strlen(WORKSPACE)] ? text + strlen(WORKSPACE) : "/";
	if (*path != '/') {
		reader_refuse(r, item, "a place is an absolute path, or \"" WORKSPACE "\"");
		return -EINVAL;
	}
	if (!path_canonical(NULL, path, canonical))
		return reader_refuse(r, item, "the path is too long");
	if (strcmp(canonical, path) != 0 || strcmp(text, WORKSPACE "/") == 0) {
		reader_refuse(r, item, "%s is not in its plain form", quoted(text, room));
		err_hint(r->err, "write \"%s%.150s\"", ours ? WORKSPACE : "", ours && !canonical[1] ? "" : canonical);
		return -EINVAL;
	}
	return texts_add(&p->texts, text) < 0 ? reader_no_memory(r) : 0;
}

static int read_places(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	const cJSON *item = reader_first(node);

	if (!item)
		return reader_refuse(r, node, "an empty list matches nothing");
	for (; item; item = cJSON_IsArray(node) ? item->next : NULL) {
		int n = p->texts.count == POLICY_LIST_MAX ? reader_refuse(r, item, "a list has at most %u entries", POLICY_LIST_MAX) : read_place(r, item, p);
		if (n < 0)
			return n;
	}
	return 0;
}

static char *scalar_text(const struct policy_reader *r, const cJSON *node)
{
	size_t len;
	const char *raw = reader_raw(r, node, &len);
	char *text = NULL;

	if (!cJSON_IsString(node))
		return strndup(raw, len);
	return asprintf(&text, "\"%s", node->valuestring) < 0 ? NULL : text;
}

static int read_scalar(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	_cleanup_free_ char *text = scalar_text(r, node);

	if (cJSON_IsArray(node) || cJSON_IsObject(node)) {
		reader_refuse(r, node, "it is compared with a string, a number, true, false or null");
		err_hint(r->err, "\"one_of\" takes a list of such; name what lies within an argument by a dotted name");
		return -EINVAL;
	}
	return !text || texts_add(&p->texts, text) < 0 ? reader_no_memory(r) : 0;
}

static int read_scalars(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	if (!cJSON_IsArray(node) || !node->child)
		return reader_refuse(r, node, "\"one_of\" is a list of values");
	for (const cJSON *item = node->child; item; item = item->next) {
		int n = p->texts.count == POLICY_LIST_MAX ? reader_refuse(r, item, "a list has at most %u entries", POLICY_LIST_MAX) : read_scalar(r, item, p);
		if (n < 0)
			return n;
	}
	return 0;
}

static int read_number(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	return cJSON_IsNumber(node) ? read_scalar(r, node, p) : reader_refuse(r, node, "\"%s\" is a number", node->string);
}

static int pattern_compile(const char *text, pcre2_code **ret, char why[120])
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_SIZE at = 0;
	int code = PCRE2_ERROR_NOMEMORY;

	*ret = NULL;
	if (context && pcre2_set_parens_nest_limit(context, PATTERN_NEST_MAX) == 0)
		*ret = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				     PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY, &code, &at, context);
	pcre2_compile_context_free(context);
	if (*ret)
		return 0;
	int n = snprintf(why, 120, "at byte %zu: ", at);
	(void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why + n, 120 - (size_t)n);
	return -EINVAL;
}

static int read_pattern(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	pcre2_code *code;
	char why[120];

	if (!cJSON_IsString(node))
		return reader_refuse(r, node, "\"matches\" is a pattern: a string");
	if (strlen(node->valuestring) > POLICY_PATTERN_MAX)
		return reader_refuse(r, node, "a pattern has at most %u bytes", POLICY_PATTERN_MAX);
	if (pattern_compile(node->valuestring, &code, why) < 0)
		return reader_refuse(r, node, "the pattern is wrong %s", why);
	p->pattern = code;
	return 0;
}

static int read_bytes(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	char write_it[32];

	if (value_size(node, &p->bytes, write_it) == 0)
		return 0;
	reader_refuse(r, node, "\"max_bytes\" is a size, such as 4096 or \"64K\"");
	if (write_it[0])
		err_hint(r->err, "write %s", write_it);
	return -EINVAL;
}

static int pred_read(const struct policy_reader *r, const cJSON *node, struct pred *p)
{
	switch (p->kind) {
	case PRED_UNDER:
	case PRED_NOT_UNDER: return read_places(r, node, p);
	case PRED_EQUALS: return read_scalar(r, node, p);
	case PRED_ONE_OF: return read_scalars(r, node, p);
	case PRED_MATCHES: return read_pattern(r, node, p);
	case PRED_MIN:
	case PRED_MAX: return read_number(r, node, p);
	case PRED_MAX_BYTES: return read_bytes(r, node, p);
	case PRED_PRESENT:
	case PRED_COUNT: break;
	}
	p->present = cJSON_IsTrue(node);
	return cJSON_IsBool(node) ? 0 : reader_refuse(r, node, "\"present\" is true or false");
}

static struct pred *pred_new(struct cond *c, enum pred_kind kind, const char *arg)
{
	struct pred *preds = reallocarray(c->preds, c->pred_count + 1, sizeof(*preds));

	if (!preds)
		return NULL;
	c->preds = preds;
	preds[c->pred_count] = (struct pred){ .kind = kind, .arg = strdup(arg) };
	return preds[c->pred_count].arg ? &preds[c->pred_count++] : NULL;
}

/* "min": 5 with "max": 3. */
static int range_check(const struct policy_reader *r, const cJSON *node)
{
	const cJSON *min = cJSON_GetObjectItemCaseSensitive(node, "min"), *max = cJSON_GetObjectItemCaseSensitive(node, "max");
	size_t a_len, b_len;
	int order;

	if (!min || !max)
		return 0;
	const char *a = reader_raw(r, min, &a_len), *b = reader_raw(r, max, &b_len);
	if (decimal_compare(a, a_len, b, b_len, &order) && order > 0)
		return reader_refuse(r, min, "\"min\" is more than \"max\": nothing lies between");
	return 0;
}

static int arg_read(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	char room[96];

	if (!cJSON_IsObject(node) || !node->child)
		return reader_refuse(r, node, "what an argument must be is an object, such as { \"under\": \"" WORKSPACE "\" }");
	if (!node->string[0] || node->string[0] == '.' || strstr(node->string, "..") || node->string[strlen(node->string) - 1] == '.')
		return reader_refuse(r, node, "%s is no name of an argument; a dotted one goes into objects and lists", quoted(node->string, room));
	for (const cJSON *item = node->child; item; item = item->next) {
		unsigned kind = 0;

		while (kind < PRED_COUNT && strcmp(names[kind], item->string) != 0)
			kind++;
		if (kind == PRED_COUNT) {
			reader_refuse(r, item, "there is no predicate %s", quoted(item->string, room));
			return reader_hint(r, item->string, names, PRED_COUNT);
		}
		if (c->pred_count == POLICY_LIST_MAX)
			return reader_refuse(r, item, "a rule has at most %u predicates", POLICY_LIST_MAX);
		struct pred *p = pred_new(c, (enum pred_kind)kind, node->string);
		int n = p ? pred_read(r, item, p) : reader_no_memory(r);
		if (n < 0)
			return n;
	}
	return range_check(r, node);
}

int preds_read(const struct policy_reader *r, const cJSON *args, struct cond *c)
{
	if (!cJSON_IsObject(args) || !args->child)
		return reader_refuse(r, args, "\"args\" is an object: { \"path\": { \"under\": \"" WORKSPACE "\" } }");
	for (const cJSON *node = args->child; node; node = node->next) {
		int n = arg_read(r, node, c);
		if (n < 0)
			return n;
	}
	return 0;
}

void pred_done(struct pred *p)
{
	free(p->arg);
	texts_done(&p->texts);
	pcre2_code_free(p->pattern);
}

/* ---- judging ---- */

/* One argument as it came. */
struct value {
	const char *raw; /* NULL: absent */
	size_t len;
	char *text;      /* of a string, unescaped */
	size_t text_len;
};

static enum fit is(bool yes)
{
	return yes ? FIT_YES : FIT_NO;
}

/* One place: does the path lie there? */
static bool place_has(const char *place, const char *path, const char *workspace)
{
	char base[PATH_MAX], full[PATH_MAX];
	const char *below = place + strlen(WORKSPACE);

	if (place[0] == '/')
		return path_is_under(path, place);
	if (!path_canonical(NULL, workspace, base))
		return false;
	while (*below == '/')
		below++;
	return path_canonical(base, *below ? below : ".", full) && path_is_under(path, full);
}

static enum fit fit_under(const struct pred *p, const struct value *v, const struct question *q)
{
	char path[PATH_MAX];
	bool hit = false;

	if (!v->text || strlen(v->text) != v->text_len || !path_canonical(q->workspace, v->text, path))
		return FIT_UNKNOWN;
	for (size_t i = 0; i < p->texts.count; i++) {
		if (p->texts.at[i][0] == '@' && !q->workspace)
			return FIT_UNKNOWN;
		hit |= place_has(p->texts.at[i], path, q->workspace);
	}
	return is(hit == (p->kind == PRED_UNDER));
}

static bool is_number(const char *raw)
{
	return *raw == '-' || (*raw >= '0' && *raw <= '9');
}

static enum fit fit_scalar(const char *want, const struct value *v)
{
	int order;

	if (*want == '"')
		return is(v->text && strlen(want + 1) == v->text_len && memcmp(want + 1, v->text, v->text_len) == 0);
	if (is_number(want) && is_number(v->raw))
		return decimal_compare(want, strlen(want), v->raw, v->len, &order) ? is(order == 0) : FIT_UNKNOWN;
	return is(strlen(want) == v->len && memcmp(want, v->raw, v->len) == 0);
}

static enum fit fit_scalars(const struct pred *p, const struct value *v)
{
	enum fit best = FIT_NO;

	for (size_t i = 0; i < p->texts.count; i++) {
		enum fit f = fit_scalar(p->texts.at[i], v);
		best = f > best ? f : best;
	}
	return best;
}

static enum fit fit_range(const struct pred *p, const struct value *v)
{
	const char *bound = p->texts.at[0];
	int order;

	if (!is_number(v->raw) || !decimal_compare(v->raw, v->len, bound, strlen(bound), &order))
		return FIT_UNKNOWN;
	return is(p->kind == PRED_MIN ? order >= 0 : order <= 0);
}

static enum fit fit_pattern(const struct pred *p, const struct value *v)
{
	pcre2_match_context *context;
	pcre2_match_data *data;
	int r = PCRE2_ERROR_NOMEMORY;

	if (!v->text || v->text_len > POLICY_SUBJECT_MAX)
		return FIT_UNKNOWN;
	context = pcre2_match_context_create(NULL);
	data = pcre2_match_data_create(1, NULL);
	if (context && data) {
		(void)pcre2_set_match_limit(context, POLICY_PATTERN_STEPS);
		(void)pcre2_set_heap_limit(context, PATTERN_HEAP_KIB);
		r = pcre2_match(p->pattern, (PCRE2_SPTR)v->text, v->text_len, 0, 0, data, context);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return r >= 0 ? FIT_YES : r == PCRE2_ERROR_NOMATCH ? FIT_NO : FIT_UNKNOWN;
}

static enum fit pred_fit(const struct pred *p, const struct value *v, const struct question *q)
{
	if (p->kind == PRED_PRESENT)
		return is(p->present == (v->raw != NULL));
	if (!v->raw)
		return FIT_NO;
	switch (p->kind) {
	case PRED_UNDER:
	case PRED_NOT_UNDER: return fit_under(p, v, q);
	case PRED_EQUALS:
	case PRED_ONE_OF: return fit_scalars(p, v);
	case PRED_MATCHES: return fit_pattern(p, v);
	case PRED_MIN:
	case PRED_MAX: return fit_range(p, v);
	case PRED_MAX_BYTES: return v->text ? is(v->text_len <= p->bytes) : FIT_UNKNOWN;
	case PRED_PRESENT:
	case PRED_COUNT: break;
	}
	return FIT_UNKNOWN;
}

/* False: no memory to look at it. */
static bool value_find(const struct question *q, const char *arg, struct value *ret)
{
	size_t at = 0;

	*ret = (struct value){ 0 };
	if (!q->args || !json_find(q->args, q->args_len, arg, &at, &ret->len, NULL))
		return true;
	ret->raw = q->args + at;
	if (*ret->raw == '"')
		ret->text = json_string_dup(ret->raw, ret->len, &ret->text_len);
	return *ret->raw != '"' || ret->text;
}

enum fit preds_fit(const struct pred *preds, size_t count, const struct question *q)
{
	enum fit worst = FIT_YES;

	for (size_t i = 0; i < count && worst != FIT_NO; i++) {
		struct value v;
		enum fit f = value_find(q, preds[i].arg, &v) ? pred_fit(&preds[i], &v, q) : FIT_UNKNOWN;

		free(v.text);
		worst = f < worst ? f : worst;
	}
	return worst;
}
