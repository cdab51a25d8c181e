/* What of a note goes into its record: names and texts within their bounds, hashes of all else. */
#include "supervisor/audit_client.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void audit_fill_sha256(const void *bytes, size_t len, uint8_t ret[AUDIT_HASH_LEN])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, bytes, len);
	SHA256Final(ret, &sha);
}

/* At a character's beginning: part of one would be another text. */
static size_t cut_at(const char *text, size_t len)
{
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void audit_fill_text(char *field, size_t cap, const char *text)
{
	audit_fill_bytes(field, cap, text, strlen(text));
}

void audit_fill_bytes(char *field, size_t cap, const char *text, size_t len)
{
	size_t keep = len < cap ? len : cut_at(text, cap - sizeof(" [+18446744073709551615 bytes, sha256 0123456789abcdef]"));
	uint8_t rest[AUDIT_HASH_LEN];

	if (len < cap) {
		memcpy(field, text, len);
		field[len] = '\0';
		return;
	}
	audit_fill_sha256(text + keep, len - keep, rest);
	snprintf(field, cap, "%.*s [+%zu bytes, sha256 %02x%02x%02x%02x%02x%02x%02x%02x]", (int)keep, text, len - keep, rest[0], rest[1], rest[2],
		 rest[3], rest[4], rest[5], rest[6], rest[7]);
}

void audit_fill_hash(const char *text, struct audit_record *r)
{
	static const char prefix[] = "sha256:";
	const char *hex = text + sizeof(prefix) - 1;

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0 || strspn(hex, "0123456789abcdef") != 2 * AUDIT_HASH_LEN || strlen(hex) != 2 * AUDIT_HASH_LEN)
		return;
	for (size_t i = 0; i < AUDIT_HASH_LEN; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		r->hash[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	r->has |= AUDIT_HAS_HASH;
}

void audit_fill_about(const struct audit_about *a, struct audit_record *r)
{
	audit_fill_text(r->session, sizeof(r->session), a->session ?: "");
	snprintf(r->call_id, sizeof(r->call_id), "%s", a->call_id ?: "");
	audit_fill_text(r->text, sizeof(r->text), a->text ?: "");
	audit_fill_text(r->tool, sizeof(r->tool), a->tool ?: "");
	audit_fill_text(r->profile, sizeof(r->profile), a->profile ?: "");
	snprintf(r->approval, sizeof(r->approval), "%s", a->approval ?: "");
	audit_fill_text(r->rule, sizeof(r->rule), a->rule ?: "");
	if (a->hash)
		audit_fill_hash(a->hash, r);
	if (a->args) {
		audit_fill_sha256(a->args, a->args_len, r->args);
		r->args_bytes = a->args_len;
		r->has |= AUDIT_HAS_ARGS;
	}
	if (a->context) {
		audit_fill_sha256(a->context, a->context_len, r->context);
		r->context_bytes = a->context_len;
		r->has |= AUDIT_HAS_CONTEXT;
	}
	if (a->reason && a->reason[0]) {
		r->body_bytes = strlen(a->reason);
		audit_fill_sha256(a->reason, r->body_bytes, r->body);
		r->has |= AUDIT_HAS_BODY;
	}
	if (a->decided) {
		r->decision = a->decision;
		r->has |= AUDIT_HAS_DECISION;
	}
}
