/* The result object, which brig(1) describes field by field: the truth about one call, for people and programs. */
#include "jail/base/compiler.h"
#include "supervisor/call.h"
#include "supervisor/context.h"
#include "supervisor/gate.h"
#include "supervisor/missing.h"
#include "supervisor/session.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* A body has at most a million lines. */
#define LINE_DIGITS 7
/* More frames than a person reads. */
#define TRACEBACK_MAX 50

/* Where nothing is queued, so that nothing is known of the wait: most calls are over by then, and asking again costs little. */
#define RETRY_AFTER_MS 100

/* What the profile's limit and its origin are called, and how to say that it ended a call. */
struct cause {
	char what[400];
	char evidence[400]; /* JSON object */
	const char *key;    /* the profile key whose origin is the rule; NULL none */
	char rule[96];      /* where it is no key's origin */
	char hint[300];
	bool final;         /* the same call would end the same way */
};

/* "SIGSEGV", "SIGRTMIN+3"; the two that the C library keeps for itself are plain numbers. */
static void signal_name(int sig, char *buf, size_t cap)
{
	const char *name = sigabbrev_np(sig);

	if (name)
		snprintf(buf, cap, "SIG%s", name);
	else if (sig >= SIGRTMIN)
		snprintf(buf, cap, "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		snprintf(buf, cap, "SIG%d", sig);
}

static void cause_killed(const struct call *c, struct cause *out)
{
	int sig = WTERMSIG(c->ev.wait_status);
	char name[24];

	signal_name(sig, name, sizeof(name));
	snprintf(out->what, sizeof(out->what), "the tool was killed by signal %d (%s)", sig, name);
	snprintf(out->evidence, sizeof(out->evidence), "{\"signal\":\"%s\",\"number\":%d}", name, sig);
	snprintf(out->hint, sizeof(out->hint), "%s",
		 sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS ? "native code crashed, or the stack overflowed" :
								      "the tool or the kernel sent this signal; Brig did not");
}

static void cause_syscall(const struct call *c, struct cause *out)
{
	_cleanup_free_ char *name = c->ev.syscall ? profile_syscall_name(c->denied_arch, c->denied_nr) : NULL;

	if (c->ev.syscall) {
		snprintf(out->what, sizeof(out->what), "system call %s (number %d) is an attack and was refused; the jail was killed",
			 name ? name : "unknown", c->denied_nr);
		snprintf(out->evidence, sizeof(out->evidence), "{\"syscall\":\"%s\",\"number\":%d,\"arch\":\"%#x\"}",
			 name ? name : "unknown", c->denied_nr, c->denied_arch);
	} else {
		snprintf(out->what, sizeof(out->what), "a system call of a foreign architecture (32-bit or x32) was refused by the filter");
		snprintf(out->evidence, sizeof(out->evidence), "{\"syscall\":\"foreign architecture\",\"signal\":\"SIGSYS\"}");
	}
	snprintf(out->hint, sizeof(out->hint), "no profile allows this; write the tool without it%s",
		 c->quarantined ? ". It is in quarantine now: an operator has to look at it" : "");
	out->key = "syscalls.allow";
	out->final = true;
}

/* A tool's error that comes of a permission which it did not have. */
static bool cause_missing(const struct call *c, struct cause *out)
{
	struct missing m;

	if (!c->gate || !c->gate->tool || !missing_find(c->gate->tool, c->effective, &c->gate->effective, c->result, c->result_len, &m))
		return false;
	snprintf(out->what, sizeof(out->what), "%s", m.what);
	snprintf(out->evidence, sizeof(out->evidence), "{\"permission\":\"%s\",\"errno\":%d}", permission_name(m.which), m.error);
	snprintf(out->rule, sizeof(out->rule), "%s", m.rule);
	snprintf(out->hint, sizeof(out->hint), "%s", m.hint);
	return true;
}

/* The questions that a tool ended with: a word of its own, and hostile like all of them. */
static bool asks_find(const struct call *c, size_t *ret_start, size_t *ret_len)
{
	static const char type[] = "\"InputNeeded\"";
	size_t at, len;

	return json_find(c->result, c->result_len, "type", &at, &len, NULL) && len == sizeof(type) - 1 && memcmp(c->result + at, type, len) == 0 &&
	       json_find(c->result, c->result_len, "asks", ret_start, ret_len, NULL) && context_asks_check(c->result + *ret_start, *ret_len);
}

static void cause_tool_error(const struct call *c, struct cause *out)
{
	size_t at, len;

	if (c->ev.frame_complete && asks_find(c, &at, &len)) {
		snprintf(out->what, sizeof(out->what), "the tool asks the person at the client, and this call brought no answer");
		snprintf(out->hint, sizeof(out->hint), "ask what error.asks says, and call again with the same arguments and context.inputs, an answer for each key");
		return;
	}
	if (c->ev.frame_complete && cause_missing(c, out))
		return;
	if (c->ev.frame_complete) {
		snprintf(out->what, sizeof(out->what), "the tool raised an error");
		snprintf(out->evidence, sizeof(out->evidence), "{}");
		return;
	}
	int status = c->ev.exited && WIFEXITED(c->ev.wait_status) ? WEXITSTATUS(c->ev.wait_status) : -1;

	if (c->frame_bad && c->ev.we_killed) {
		snprintf(out->what, sizeof(out->what), "what came on the result channel is no answer to this call");
		snprintf(out->hint, sizeof(out->hint), "return the result from run(); earlier calls of the session may have left something running");
		return;
	}
	snprintf(out->what, sizeof(out->what), "the tool ended without a result");
	snprintf(out->evidence, sizeof(out->evidence), "{\"exit_status\":%d}", status);
	snprintf(out->hint, sizeof(out->hint), "return the result from run(); do not end the process");
}

static void cause_setup(const struct call *c, struct cause *out)
{
	snprintf(out->what, sizeof(out->what), "the jail could not be built: %s: %s", layer_name(c->failed_layer), c->why.detail);
	snprintf(out->evidence, sizeof(out->evidence), "{\"layer\":\"%s\",\"errno\":%d}", layer_name(c->failed_layer), c->why.code);
	snprintf(out->hint, sizeof(out->hint), "%s", c->why.hint[0] ? c->why.hint : "brig doctor tells what this host lacks and how to get it");
	out->final = true;
}

static void cause_limit(const struct call *c, struct cause *out)
{
	const struct spec_limits *l = &c->limits;
	double ran = (double)(c->ended_ns - c->begun_ns) / 1e6;

	switch (c->outcome) {
	case OUTCOME_TIMEOUT:
		snprintf(out->what, sizeof(out->what), "the tool ran longer than limits.wall (%u ms)", l->wall_ms);
		snprintf(out->evidence, sizeof(out->evidence), "{\"wall_ms\":%.1f,\"limit_ms\":%u}", ran, l->wall_ms);
		out->key = "limits.wall";
		break;
	case OUTCOME_CPU_LIMIT:
		snprintf(out->what, sizeof(out->what), "the tool used more processor time than limits.cpu (%u ms)", l->cpu_ms);
		snprintf(out->evidence, sizeof(out->evidence), "{\"cpu_ms\":%.1f,\"limit_ms\":%u}", (double)c->cpu_us / 1e3, l->cpu_ms);
		out->key = "limits.cpu";
		break;
	case OUTCOME_OUT_OF_MEMORY:
		snprintf(out->what, sizeof(out->what), "the tool needed more memory than limits.memory (%llu bytes)",
			 (unsigned long long)l->memory_bytes);
		snprintf(out->evidence, sizeof(out->evidence), "{\"oom_kills\":%llu,\"limit_bytes\":%llu}",
			 (unsigned long long)c->usage.oom_kills, (unsigned long long)l->memory_bytes);
		out->key = "limits.memory";
		break;
	default:
		snprintf(out->what, sizeof(out->what), "the result is larger than limits.result (%u bytes)", l->result_bytes);
		snprintf(out->evidence, sizeof(out->evidence), "{\"received_bytes\":%zu,\"limit_bytes\":%u}", c->result_len, l->result_bytes);
		out->key = "limits.result";
		break;
	}
	snprintf(out->hint, sizeof(out->hint), "make the tool need less, or raise %s in the profile", out->key);
}

static void cause_gate(const struct gate *g, struct cause *out)
{
	snprintf(out->what, sizeof(out->what), "%s", g->why.detail);
	snprintf(out->evidence, sizeof(out->evidence), "%s", g->evidence);
	snprintf(out->hint, sizeof(out->hint), "%s", g->why.hint);
	out->final = g->final;
}

static void cause_of(const struct call *c, struct cause *out)
{
	memset(out, 0, sizeof(*out));
	switch (c->outcome) {
	case OUTCOME_INVALID_ARGUMENTS:
	case OUTCOME_DENIED:
	case OUTCOME_APPROVAL_PENDING:
		cause_gate(c->gate, out);
		break;
	case OUTCOME_KILLED:
		cause_killed(c, out);
		break;
	case OUTCOME_SYSCALL_DENIED:
		cause_syscall(c, out);
		break;
	case OUTCOME_TOOL_ERROR:
		cause_tool_error(c, out);
		break;
	case OUTCOME_SETUP_FAILED:
		cause_setup(c, out);
		break;
	case OUTCOME_CANCELLED:
		snprintf(out->what, sizeof(out->what), "%s", c->why.detail[0] ? c->why.detail : "the call was cancelled by its client");
		snprintf(out->hint, sizeof(out->hint), "%s", c->why.hint);
		break;
	case OUTCOME_BUSY:
		snprintf(out->what, sizeof(out->what), "%s", c->why.detail);
		snprintf(out->evidence, sizeof(out->evidence), "{\"limit\":\"%s\"}", c->why.where);
		snprintf(out->hint, sizeof(out->hint), "%s", c->why.hint);
		break;
	case OUTCOME_INTERNAL_ERROR:
		snprintf(out->what, sizeof(out->what), "the supervisor failed: %s", c->why.detail);
		snprintf(out->hint, sizeof(out->hint), "%s",
			 c->why.hint[0] ? c->why.hint : "this is not the tool's fault; try again, and report it if it stays");
		break;
	default:
		cause_limit(c, out);
	}
	if (!out->evidence[0])
		snprintf(out->evidence, sizeof(out->evidence), "{}");
}

static void print_cause(const struct cause *cause, const char *rule, struct jbuf *out)
{
	jbuf_text(out, ",\"cause\":{\"what\":");
	jbuf_cstring(out, cause->what);
	jbuf_printf(out, ",\"evidence\":%s", cause->evidence);
	if (rule) {
		jbuf_text(out, ",\"rule\":");
		jbuf_cstring(out, rule);
	}
	if (cause->hint[0]) {
		jbuf_text(out, ",\"hint\":");
		jbuf_cstring(out, cause->hint);
	}
	jbuf_printf(out, ",\"final\":%s}", cause->final ? "true" : "false");
}

/* A value of the tool's error statement as its own JSON text, when it is a string. */
static bool print_string_at(const struct call *c, const char *path, struct jbuf *out)
{
	size_t start, len;

	if (!json_find(c->result, c->result_len, path, &start, &len, NULL) || c->result[start] != '"')
		return false;
	jbuf_raw(out, c->result + start, len);
	return true;
}

static void print_number_at(const struct call *c, const char *key, struct jbuf *out)
{
	size_t start, len;

	if (json_find(c->result, c->result_len, key, &start, &len, NULL) && len <= LINE_DIGITS &&
	    strspn(c->result + start, "0123456789") >= len) {
		jbuf_printf(out, ",\"%s\":", key);
		jbuf_raw(out, c->result + start, len);
	}
}

/* The tool's own statement about its error, taken apart and put together anew:
 * known keys of known types, everything else is dropped. */
static void print_error(const struct call *c, struct jbuf *out)
{
	char path[32];
	size_t at, n;

	jbuf_text(out, ",\"error\":{\"type\":");
	if (!print_string_at(c, "type", out))
		jbuf_text(out, "\"Error\"");
	jbuf_text(out, ",\"message\":");
	if (!print_string_at(c, "message", out))
		jbuf_text(out, "\"\"");
	print_number_at(c, "line", out);
	print_number_at(c, "column", out);
	jbuf_text(out, ",\"traceback\":[");
	for (int i = 0; i < TRACEBACK_MAX; i++) {
		size_t start, len;

		snprintf(path, sizeof(path), "traceback.%d", i);
		if (!json_find(c->result, c->result_len, path, &start, &len, NULL) || c->result[start] != '"')
			break;
		jbuf_text(out, i ? "," : "");
		jbuf_raw(out, c->result + start, len);
	}
	jbuf_text(out, "]");
	if (asks_find(c, &at, &n)) {
		jbuf_text(out, ",\"asks\":");
		jbuf_raw(out, c->result + at, n);
	}
	jbuf_text(out, "}");
}

static void print_ended_without(const struct cause *cause, struct jbuf *out)
{
	jbuf_text(out, ",\"error\":{\"type\":\"NoResult\",\"message\":");
	jbuf_cstring(out, cause->what);
	jbuf_text(out, ",\"traceback\":[]}");
}

static void print_limits_hit(unsigned bits, struct jbuf *out)
{
	static const char *const names[] = { "pids", "stdout", "stderr", "file_size", "tmpfs", "events" };
	const char *sep = "";

	jbuf_text(out, ",\"limits_hit\":[");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (bits & (1u << i)) {
			jbuf_printf(out, "%s\"%s\"", sep, names[i]);
			sep = ",";
		}
	jbuf_text(out, "]");
}

static void print_known(const char *key, bool known, uint64_t value, struct jbuf *out)
{
	if (known && value != CGROUP_UNKNOWN)
		jbuf_printf(out, ",\"%s\":%llu", key, (unsigned long long)value);
	else
		jbuf_printf(out, ",\"%s\":null", key);
}

static void print_usage(const struct call *c, struct jbuf *out)
{
	double wall = c->begun_ns ? (double)(c->ended_ns - c->begun_ns) / 1e6 : 0.0;
	double queued = (double)((c->left_queue_ns ? c->left_queue_ns : c->ended_ns) - c->received_ns) / 1e6;

	jbuf_printf(out, ",\"usage\":{\"wall_ms\":%.3f,\"queue_ms\":%.3f", wall, queued);
	if (c->usage_known && c->usage.cpu_us != CGROUP_UNKNOWN)
		jbuf_printf(out, ",\"cpu_ms\":%.3f", (double)c->usage.cpu_us / 1e3);
	else
		jbuf_text(out, ",\"cpu_ms\":null");
	print_known("memory_peak_bytes", c->usage_known, c->usage.memory_peak_bytes, out);
	print_known("processes_peak", c->usage_known, c->usage.processes_peak, out);
	jbuf_text(out, "}");
}

static void print_stages(const struct call *c, struct jbuf *out)
{
	jbuf_printf(out, ",\"stages\":{\"total\":%llu,\"fork\":%llu", (unsigned long long)c->spawn_ns, (unsigned long long)c->fork_ns);
	for (int i = 0; i < STAGE_COUNT; i++) {
		jbuf_text(out, ",");
		jbuf_cstring(out, stage_name((enum stage)i));
		jbuf_printf(out, ":%llu", (unsigned long long)c->stage_ns[i]);
	}
	jbuf_text(out, "}");
}

static void print_name(const char *key, const char *name, struct jbuf *out)
{
	jbuf_text(out, key);
	if (name[0])
		jbuf_cstring(out, name);
	else
		jbuf_text(out, "null");
}

/* What decided that it ends so: a rule of the policy, or where the limit was set. NULL: neither. */
static const char *rule_of(const struct call *c, const struct cause *cause)
{
	if (c->ev.gate != OUTCOME_OK)
		return c->gate->decided && c->outcome == c->ev.gate ? c->gate->verdict.rule : NULL;
	if (cause->rule[0])
		return cause->rule;
	return cause->key && c->zygote ? profile_origin(c->zygote->profile, cause->key) : NULL;
}

void answer_print(const struct call *c, struct jbuf *out)
{
	struct cause cause;

	jbuf_printf(out, "{\"call_id\":\"%s\"", c->id);
	if (c->session)
		jbuf_printf(out, ",\"session\":\"%s\"", c->session->id);
	print_name(",\"tool\":", c->gate && c->gate->tool ? c->gate->name : "", out);
	print_name(",\"profile\":", c->profile, out);
	jbuf_printf(out, ",\"outcome\":\"%s\"", outcome_name(c->outcome));
	if (c->outcome == OUTCOME_BUSY)
		jbuf_printf(out, ",\"retry_after_ms\":%u", c->retry_after_ms ? c->retry_after_ms : RETRY_AFTER_MS);
	if (c->outcome != OUTCOME_OK)
		cause_of(c, &cause);
	if (c->outcome == OUTCOME_OK) {
		jbuf_text(out, ",\"result\":");
		jbuf_raw(out, c->result, c->result_len);
	} else if (c->outcome == OUTCOME_TOOL_ERROR) {
		if (c->ev.frame_complete)
			print_error(c, out);
		else
			print_ended_without(&cause, out);
	}
	jbuf_text(out, ",\"stdout\":");
	capture_print(&c->out, out);
	jbuf_text(out, ",\"stderr\":");
	capture_print(&c->err, out);
	if (c->outcome != OUTCOME_OK)
		print_cause(&cause, rule_of(c, &cause), out);
	print_limits_hit(c->limits_hit, out);
	print_usage(c, out);
	if (c->has_receipt) {
		jbuf_text(out, ",\"receipt\":");
		receipt_print(&c->receipt, out);
	}
	if (c->want_stages)
		print_stages(c, out);
	jbuf_text(out, "}");
}

void answer_refused(enum outcome outcome, const char *tool, const char *profile, const struct err *why, uint32_t retry_after_ms, struct jbuf *out)
{
	struct cause cause = { .evidence = "{}", .final = retry_after_ms == 0 };

	snprintf(cause.what, sizeof(cause.what), "%s", why->detail);
	snprintf(cause.hint, sizeof(cause.hint), "%s", why->hint);
	print_name("{\"tool\":", tool, out);
	print_name(",\"profile\":", profile, out);
	jbuf_printf(out, ",\"outcome\":\"%s\"", outcome_name(outcome));
	if (retry_after_ms)
		jbuf_printf(out, ",\"retry_after_ms\":%u", retry_after_ms);
	print_cause(&cause, why->where[0] ? why->where : NULL, out);
	jbuf_text(out, ",\"limits_hit\":[]}");
}
