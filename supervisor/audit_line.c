#include "supervisor/audit_line.h"

#include "jail/base/compiler.h"
#include "jail/base/names.h"
#include "supervisor/wire/utf8.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	bool core;
} kinds[AUDIT_KIND_COUNT] = {
#define X(id, name, core) [id] = { name, core },
	AUDIT_KIND_LIST(X)
#undef X
};

static const char *const decisions[AUDIT_DECISION_COUNT] = {
	[AUDIT_ALLOW] = "allow",
	[AUDIT_DENY] = "deny",
	[AUDIT_ESCALATE] = "escalate",
};

const char *audit_kind_name(uint32_t kind)
{
	return kind < AUDIT_KIND_COUNT ? kinds[kind].name : NULL;
}

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_call_id(const char id[AUDIT_ID_MAX])
{
	return strspn(id, "0123456789abcdef") == AUDIT_ID_MAX - 1;
}

const char *audit_record_check(const struct audit_record *r, size_t len)
{
	if (len != sizeof(*r) || r->magic != AUDIT_MAGIC)
		return "not the size or mark of a record";
	if (r->kind >= AUDIT_KIND_COUNT || !kinds[r->kind].core)
		return "a kind that core has not to send";
	if (!text_ends(r->call_id, sizeof(r->call_id)) || !text_ends(r->session, sizeof(r->session)) ||
	    !text_ends(r->tool, sizeof(r->tool)) || !text_ends(r->profile, sizeof(r->profile)) || !text_ends(r->rule, sizeof(r->rule)) ||
	    !text_ends(r->cause, sizeof(r->cause)) || !text_ends(r->text, sizeof(r->text)) ||
	    !text_ends(r->approval, sizeof(r->approval)) || !text_ends(r->value, sizeof(r->value)))
		return "a text without an end";
	if (r->number == 0 || r->unused || (r->has & ~(uint32_t)AUDIT_HAS_ALL) || r->decision >= AUDIT_DECISION_COUNT ||
	    r->outcome >= OUTCOME_COUNT)
		return "a number out of range";
	if ((r->kind == AUDIT_BEGIN || r->kind == AUDIT_END || r->call_id[0]) && !is_call_id(r->call_id))
		return "no call id";
	return NULL;
}

/* DEL and the C1 controls, which jbuf_string() leaves as they are: to some terminals U+009B begins a command. Every text of a line
 * comes through here, so that the log can be read with cat. */
static void print_text(const char *text, struct jbuf *b)
{
	const unsigned char *p;
	struct jbuf plain;
	size_t clean = 0, at = 0;

	jbuf_init(&plain, CHAIN_LINE_MAX);
	jbuf_cstring(&plain, text);
	for (p = (const unsigned char *)plain.data; at < plain.len; at++) {
		bool c1 = p[at] == 0xc2 && at + 1 < plain.len && p[at + 1] < 0xa0;

		if (p[at] != 0x7f && !c1)
			continue;
		jbuf_raw(b, plain.data + clean, at - clean);
		jbuf_printf(b, "\\u%04x", c1 ? p[++at] : p[at]);
		clean = at + 1;
	}
	jbuf_raw(b, plain.data + clean, plain.len - clean);
	jbuf_done(&plain);
}

void audit_line_text(const char *key, const char *text, struct jbuf *b)
{
	jbuf_printf(b, ",\"%s\":", key);
	if (text[0])
		print_text(text, b);
	else
		jbuf_text(b, "null");
}

void audit_line_open(const struct chain *c, enum audit_kind kind, const struct timespec *now, struct jbuf *b)
{
	struct tm tm = { 0 };

	(void)gmtime_r(&now->tv_sec, &tm);
	chain_open(c, b);
	jbuf_printf(b, ",\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ\",\"kind\":\"%s\"", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		    tm.tm_hour, tm.tm_min, tm.tm_sec, now->tv_nsec, kinds[kind].name);
}

void audit_line_core(uint64_t core, uint64_t number, struct jbuf *b)
{
	jbuf_printf(b, ",\"core\":\"%016llx\",\"n\":%llu", (unsigned long long)core, (unsigned long long)number);
}

static void print_hash(const char *prefix, const uint8_t hash[AUDIT_HASH_LEN], struct jbuf *b)
{
	char hex[2 * AUDIT_HASH_LEN + 1];

	for (size_t i = 0; i < AUDIT_HASH_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	jbuf_printf(b, "\"%s%s\"", prefix, hex);
}

static void print_sized(const char *key, bool has, const uint8_t hash[AUDIT_HASH_LEN], uint64_t bytes, const char *value, struct jbuf *b)
{
	jbuf_printf(b, ",\"%s\":", key);
	if (!has) {
		jbuf_text(b, "null");
		return;
	}
	jbuf_text(b, "{\"sha256\":");
	print_hash("", hash, b);
	jbuf_printf(b, ",\"bytes\":%llu", (unsigned long long)bytes);
	if (value)
		audit_line_text("value", value, b);
	jbuf_text(b, "}");
}

/* What most calls have not is no member of their line. */
static void print_context(const struct audit_record *r, struct jbuf *b)
{
	if (r->has & AUDIT_HAS_CONTEXT)
		print_sized("context", true, r->context, r->context_bytes, NULL, b);
}

static void print_tool(const struct audit_record *r, struct jbuf *b)
{
	audit_line_text("tool", r->tool, b);
	jbuf_text(b, ",\"tool_hash\":");
	if (r->has & AUDIT_HAS_HASH)
		print_hash("sha256:", r->hash, b);
	else
		jbuf_text(b, "null");
}

static void print_decision(const struct audit_record *r, struct jbuf *b)
{
	bool decided = r->kind == AUDIT_BEGIN || r->has & AUDIT_HAS_DECISION;

	audit_line_text("decision", decided ? decisions[r->decision] : "", b);
	audit_line_text("rule", r->rule, b);
	audit_line_text("approval", r->approval, b);
}

static void print_figure(const char *key, uint64_t value, struct jbuf *b)
{
	if (value == AUDIT_UNKNOWN)
		jbuf_printf(b, "\"%s\":null", key);
	else
		jbuf_printf(b, "\"%s\":%llu", key, (unsigned long long)value);
}

static void print_begin(const struct audit_record *r, struct jbuf *b)
{
	print_tool(r, b);
	audit_line_text("profile", r->profile, b);
	print_sized("body", r->has & AUDIT_HAS_BODY, r->body, r->body_bytes, NULL, b);
	print_sized("args", r->has & AUDIT_HAS_ARGS, r->args, r->args_bytes, r->has & AUDIT_HAS_VALUE ? r->value : NULL, b);
	print_context(r, b);
	print_decision(r, b);
}

static void print_note(const struct audit_record *r, struct jbuf *b)
{
	if (r->kind == AUDIT_POLICY) {
		jbuf_text(b, ",\"policy_hash\":");
		print_hash("sha256:", r->hash, b);
	} else if (r->kind >= AUDIT_TOOL_CREATE && r->kind <= AUDIT_APPROVAL_USE) {
		print_tool(r, b);
		audit_line_text("profile", r->profile, b);
		print_sized("args", r->has & AUDIT_HAS_ARGS, r->args, r->args_bytes, NULL, b);
		print_context(r, b);
		print_decision(r, b);
		print_sized("reason", r->has & AUDIT_HAS_BODY, r->body, r->body_bytes, NULL, b);
	}
	audit_line_text("text", r->text, b);
}

static void print_end(const struct audit_record *r, struct jbuf *b)
{
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = { { "wall_us", r->wall_us }, { "queue_us", r->queue_us }, { "cpu_us", r->cpu_us },
			{ "memory_peak_bytes", r->memory_peak_bytes }, { "processes_peak", r->processes_peak } };

	audit_line_text("tool", r->tool, b);
	audit_line_text("outcome", outcome_name((enum outcome)r->outcome), b);
	audit_line_text("cause", r->cause, b);
	jbuf_text(b, ",\"usage\":");
	for (size_t i = 0; r->has & AUDIT_HAS_USAGE && i < ARRAY_LEN(figures); i++) {
		jbuf_text(b, i ? "," : "{");
		print_figure(figures[i].key, figures[i].value, b);
	}
	jbuf_text(b, r->has & AUDIT_HAS_USAGE ? "},\"receipt\":" : "null,\"receipt\":");
	if (r->has & AUDIT_HAS_RECEIPT)
		print_hash("sha256:", r->receipt, b);
	else
		jbuf_text(b, "null");
}

void audit_line_record(struct chain *c, const struct audit_record *r, uint64_t core, const struct timespec *now, struct jbuf *b)
{
	size_t start = b->len;

	audit_line_open(c, (enum audit_kind)r->kind, now, b);
	audit_line_core(core, r->number, b);
	audit_line_text("call_id", r->call_id, b);
	jbuf_printf(b, ",\"who\":{\"uid\":%u,\"pid\":%u", r->uid, r->pid);
	audit_line_text("session", r->session, b);
	jbuf_text(b, "}");
	if (r->kind == AUDIT_BEGIN)
		print_begin(r, b);
	else if (r->kind == AUDIT_END)
		print_end(r, b);
	else
		print_note(r, b);
	chain_close(c, b, start);
}

void audit_line_lost(struct chain *c, const char *call_id, const char *cause, const struct timespec *now, struct jbuf *b)
{
	size_t start = b->len;

	audit_line_open(c, AUDIT_END, now, b);
	audit_line_text("call_id", call_id, b);
	audit_line_text("outcome", outcome_name(OUTCOME_INTERNAL_ERROR), b);
	audit_line_text("cause", cause, b);
	jbuf_text(b, ",\"usage\":null,\"receipt\":null");
	chain_close(c, b, start);
}
