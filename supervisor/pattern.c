#include "supervisor/pattern.h"

#include "supervisor/wire/json.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <errno.h>
#include <pcre2.h>
#include <string.h>

/* Room for states at the first try and at the last; each try has four times the room of the one before. A pattern that a person
 * writes needs less than 16 at a time. */
enum { STATES_FIRST = 16, STATES_LAST = 1024, INTS_A_STATE = 6, INTS_HEAD = 20 };
/* Runs of the matcher within itself, for lookarounds. */
enum { LOOKS_FIRST = 64, LOOKS_TIMES = 16 };
enum { PARENS_MAX = 50, HEAP_KIB = 2048, DEPTH_MAX = 64 };

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	bool looks;
};

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p);
}

static int compile_code(struct pattern *p, const struct jbuf *ecma, struct err *err)
{
	const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C | PCRE2_NEVER_UCP | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_DOTALL | PCRE2_ANCHORED | PCRE2_NO_AUTO_CAPTURE;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR why[120] = "";
	PCRE2_SIZE at;
	int code = 0;

	if (!context)
		return err_set(err, ERR_HOST, ENOMEM, "pattern", "no memory");
	pcre2_set_parens_nest_limit(context, PARENS_MAX);
	p->code = pcre2_compile((PCRE2_SPTR)ecma->data, ecma->len, options, &code, &at, context);
	pcre2_compile_context_free(context);
	if (!p->code) {
		pcre2_get_error_message(code, why, sizeof(why));
		return err_set(err, ERR_CALLER, EINVAL, "pattern", "%s", (const char *)why);
	}
	p->data = pcre2_match_data_create(1, NULL);
	return p->data ? 0 : err_set(err, ERR_HOST, ENOMEM, "pattern", "no memory");
}

int pattern_compile(const char *text, size_t len, struct pattern **ret, struct err *err)
{
	struct pattern *p;
	struct jbuf out;
	int r;

	if (len > PATTERN_MAX)
		return err_set(err, ERR_CALLER, EINVAL, "pattern", "it is %zu bytes long, at most %u are allowed", len, PATTERN_MAX);
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, ERR_HOST, ENOMEM, "pattern", "no memory");
	jbuf_init(&out, 256 * PATTERN_MAX);
	/* Anchored, with the search for a beginning inside: one run over the text judges every beginning at once. */
	jbuf_text(&out, ".*(?:");
	r = pattern_translate(text, len, &out, &p->looks, err);
	jbuf_text(&out, ")");
	if (r == 0)
		r = out.failed ? err_set(err, ERR_HOST, ENOMEM, "pattern", "no memory") : compile_code(p, &out, err);
	jbuf_done(&out);
	if (r < 0) {
		pattern_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static bool spend(int64_t *budget, uint64_t price)
{
	if (*budget < 0 || price > (uint64_t)*budget) {
		*budget = 0;
		return false;
	}
	*budget -= (int64_t)price;
	return true;
}

/* PCRE2's answer to one try. */
static int try_match(const struct pattern *p, const char *text, size_t len, unsigned states, uint32_t looks)
{
	size_t ints = INTS_HEAD + (size_t)states * INTS_A_STATE;
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	_cleanup_free_ int *room = calloc(ints, sizeof(*room));
	int r = PCRE2_ERROR_NOMEMORY;

	if (context && room) {
		pcre2_set_match_limit(context, looks);
		pcre2_set_heap_limit(context, HEAP_KIB);
		pcre2_set_depth_limit(context, DEPTH_MAX);
		r = pcre2_dfa_match(p->code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST, p->data, context, room, ints);
	}
	pcre2_match_context_free(context);
	return r;
}

int pattern_match(const struct pattern *p, const char *text, size_t len, int64_t *budget)
{
	unsigned states = STATES_FIRST;
	uint32_t looks = p->looks ? LOOKS_FIRST : 1;

	for (;;) {
		int r;

		/* Each byte looks at every state, and at every other one for being there already. */
		if (!spend(budget, 100 + (uint64_t)len * states * states / 16 * looks))
			return -E2BIG;
		r = try_match(p, text, len, states, p->looks ? looks : 100);
		if (r >= 0)
			return 1;
		if (r == PCRE2_ERROR_NOMATCH)
			return 0;
		if (r == PCRE2_ERROR_NOMEMORY)
			return -ENOMEM;
		if (r == PCRE2_ERROR_MATCHLIMIT && p->looks)
			looks *= LOOKS_TIMES;
		else if (r == PCRE2_ERROR_DFA_WSSIZE && states < STATES_LAST)
			states *= 4;
		else
			return -E2BIG;
	}
}
