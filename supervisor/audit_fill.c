/* What of a call goes into the log: hashes and sizes, never a byte of its body, arguments or output. */
#include "supervisor/audit_client.h"

#include "supervisor/gate.h"
#include "supervisor/session.h"

#include <stdio.h>
#include <string.h>

static void fill_common(const struct call *c, enum audit_kind kind, struct audit_record *r)
{
	*r = (struct audit_record){ .magic = AUDIT_MAGIC, .kind = kind, .uid = c->uid, .pid = (uint32_t)c->pid };
	memcpy(r->call_id, c->id, sizeof(r->call_id));
	if (c->gate)
		snprintf(r->tool, sizeof(r->tool), "%s", c->gate->name);
	if (c->session)
		snprintf(r->session, sizeof(r->session), "%s", c->session->id);
}

static void fill_gate(const struct gate *g, struct audit_record *r)
{
	r->decision = g->outcome == OUTCOME_OK ? AUDIT_ALLOW : g->outcome == OUTCOME_APPROVAL_PENDING ? AUDIT_ESCALATE : AUDIT_DENY;
	audit_fill_text(r->rule, sizeof(r->rule), g->decided ? g->verdict.rule : g->why.where);
	snprintf(r->approval, sizeof(r->approval), "%s", g->approval);
	if (g->tool)
		audit_fill_hash(g->tool->hash, r);
}

void audit_fill_begin(const struct call *c, struct audit_record *r)
{
	struct request_head head;

	fill_common(c, AUDIT_BEGIN, r);
	r->decision = AUDIT_ALLOW; /* over admin.sock `run` asks for nothing that its profile does not give */
	if (c->gate)
		fill_gate(c->gate, r);
	memcpy(r->profile, c->profile, sizeof(r->profile));
	memcpy(&head, c->request, sizeof(head));
	r->has |= AUDIT_HAS_BODY | AUDIT_HAS_ARGS;
	r->body_bytes = head.body_len;
	r->args_bytes = head.args_len;
	audit_fill_sha256(c->request + sizeof(head), head.body_len, r->body);
	audit_fill_sha256(c->request + sizeof(head) + head.body_len, head.args_len, r->args);
	if (head.context_len) {
		r->has |= AUDIT_HAS_CONTEXT;
		r->context_bytes = head.context_len;
		audit_fill_sha256(c->request + sizeof(head) + head.body_len + head.args_len, head.context_len, r->context);
	}
	if (c->effective && profile_audit_values(c->effective)) {
		audit_fill_bytes(r->value, sizeof(r->value), c->request + sizeof(head) + head.body_len, head.args_len);
		r->has |= AUDIT_HAS_VALUE;
	}
}

static uint64_t us_between(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;
}

static uint64_t figure(const struct call *c, uint64_t value)
{
	return c->usage_known && value != CGROUP_UNKNOWN ? value : AUDIT_UNKNOWN;
}

void audit_fill_end(const struct call *c, struct audit_record *r)
{
	struct jbuf receipt;

	fill_common(c, AUDIT_END, r);
	r->outcome = c->outcome;
	if (c->outcome == OUTCOME_SETUP_FAILED)
		snprintf(r->cause, sizeof(r->cause), "%s", layer_name(c->failed_layer));
	else if (c->outcome != OUTCOME_OK)
		snprintf(r->cause, sizeof(r->cause), "%.*s", (int)sizeof(r->cause) - 1, c->why.where);
	r->has = AUDIT_HAS_USAGE;
	r->wall_us = us_between(c->begun_ns, c->ended_ns);
	r->queue_us = us_between(c->received_ns, c->left_queue_ns ? c->left_queue_ns : c->ended_ns);
	r->cpu_us = figure(c, c->usage.cpu_us);
	r->memory_peak_bytes = figure(c, c->usage.memory_peak_bytes);
	r->processes_peak = figure(c, c->usage.processes_peak);
	if (!c->has_receipt)
		return;
	/* As the answer carries it, byte for byte: who kept an answer can compare. */
	jbuf_init(&receipt, LIMIT_ERROR_BYTES);
	receipt_print(&c->receipt, &receipt);
	if (!receipt.failed) {
		r->has |= AUDIT_HAS_RECEIPT;
		audit_fill_sha256(receipt.data, receipt.len, r->receipt);
	}
	jbuf_done(&receipt);
}
