#include "supervisor/wire/chain.h"

#include "jail/base/compiler.h"

#include <stdio.h>
#include <string.h>

#define BEGIN "{\"seq\":"
#define PREV  ",\"prev\":\""
#define HASH  ",\"hash\":\""
#define END   "\"}\n"
#define LEN(text) (sizeof(text) - 1)
/* What stands behind the members of a line, and how much of it the hash covers. */
#define TAIL_LEN (LEN(PREV) + CHAIN_HEX + 1 + LEN(HASH) + CHAIN_HEX + LEN(END))
#define UNHASHED_LEN (LEN(HASH) + CHAIN_HEX + LEN(END))

bool chain_is_old_name(const char *name)
{
	return strlen(name) == LEN("audit-") + 20 + LEN(".log") && memcmp(name, "audit-", 6) == 0 && strspn(name + 6, "0123456789") == 20 &&
	       strcmp(name + 26, ".log") == 0;
}

static void hex_of(const uint8_t raw[SHA256_DIGEST_LENGTH], char ret[CHAIN_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_DIGEST_LENGTH; i++) {
		ret[2 * i] = digits[raw[i] >> 4];
		ret[2 * i + 1] = digits[raw[i] & 15];
	}
	ret[CHAIN_HEX] = '\0';
}

static void hash_end(SHA2_CTX *sha, char ret[CHAIN_HEX + 1])
{
	uint8_t raw[SHA256_DIGEST_LENGTH];

	SHA256Final(raw, sha);
	hex_of(raw, ret);
}

void chain_hash(const void *bytes, size_t len, char ret[CHAIN_HEX + 1])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, bytes, len);
	hash_end(&sha, ret);
}

void chain_init(struct chain *c)
{
	c->seq = 0;
	memset(c->hash, '0', CHAIN_HEX);
	c->hash[CHAIN_HEX] = '\0';
}

void chain_open(const struct chain *c, struct jbuf *b)
{
	jbuf_printf(b, BEGIN "%llu", (unsigned long long)c->seq + 1);
}

void chain_close(struct chain *c, struct jbuf *b, size_t start)
{
	struct chain next = { .seq = c->seq + 1 };

	jbuf_printf(b, PREV "%s\"", c->hash);
	if (b->failed)
		return;
	chain_hash(b->data + start, b->len - start, next.hash);
	jbuf_printf(b, HASH "%s" END, next.hash);
	if (!b->failed)
		*c = next;
}

/* ---- reading ---- */

struct line {
	uint64_t seq;
	const char *prev; /* CHAIN_HEX digits, not terminated */
	char hash[CHAIN_HEX + 1];
};

/* The number after {"seq":, or 0: records count from 1. */
static uint64_t seq_read(const char *line, size_t len)
{
	uint64_t n = 0;

	for (size_t at = LEN(BEGIN); at < len && line[at] >= '0' && line[at] <= '9'; at++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (unsigned)(line[at] - '0'), &n))
			return 0;
	return n;
}

/* NULL: it is a record whose hash holds; else what is wrong with it. */
static const char *line_read(const char *line, size_t len, struct line *ret)
{
	if (len == 0 || line[len - 1] != '\n')
		return "the line is not finished: cut off, or its writer was killed";
	if (len < LEN(BEGIN) + TAIL_LEN || memcmp(line, BEGIN, LEN(BEGIN)) != 0)
		return "the line is no record";
	const char *tail = line + len - TAIL_LEN, *hash = line + len - UNHASHED_LEN;
	if (memcmp(tail, PREV, LEN(PREV)) != 0 || hash[-1] != '"' || memcmp(hash, HASH, LEN(HASH)) != 0 ||
	    memcmp(line + len - LEN(END), END, LEN(END)) != 0)
		return "the line does not end as a record does";
	ret->prev = tail + LEN(PREV);
	ret->seq = seq_read(line, len);
	chain_hash(line, len - UNHASHED_LEN, ret->hash);
	if (memcmp(ret->hash, hash + LEN(HASH), CHAIN_HEX) != 0)
		return "the text of the record does not match its hash";
	return ret->seq ? NULL : "the record has no number";
}

void chain_walk_hash(const struct chain_walk *w, char ret[CHAIN_HEX + 1])
{
	SHA2_CTX sha = w->bad;

	hash_end(&sha, ret);
}

/* Seen at the front, where every record has its kind; a text further on cannot hold these quotes. */
static bool is_torn(const char *line, size_t len)
{
	static const char kind[] = "\"kind\":\"torn\"";

	return memmem(line, len < 96 ? len : 96, kind, LEN(kind)) != NULL;
}

/* The record says that bytes were torn: exactly those that wait. */
static bool accounts_for(struct chain_walk *w, const char *line, size_t len)
{
	char hash[CHAIN_HEX + 1], bytes[24];
	size_t at, at_len;

	if (!is_torn(line, len))
		return false;
	chain_walk_hash(w, hash);
	size_t n = (size_t)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)w->bad_bytes);
	return json_find(line, len, "bytes", &at, &at_len, NULL) && at_len == n && memcmp(line + at, bytes, n) == 0 &&
	       json_find(line, len, "sha256", &at, &at_len, NULL) && at_len == CHAIN_HEX + 2 && memcmp(line + at + 1, hash, CHAIN_HEX) == 0;
}

void chain_walk_init(struct chain_walk *w)
{
	memset(w, 0, sizeof(*w));
	chain_init(&w->last);
}

void chain_walk_unsound(struct chain_walk *w, const char *bytes, size_t len)
{
	if (!w->unsound) {
		w->unsound = true;
		w->bad_bytes = 0;
		SHA256Init(&w->bad);
	}
	w->bad_bytes += len;
	SHA256Update(&w->bad, (const uint8_t *)bytes, len);
}

static bool follows(struct chain_walk *w, const struct line *l)
{
	unsigned long long want = w->last.seq + 1, got = l->seq;

	if (got > want)
		snprintf(w->why, sizeof(w->why), "record %llu is missing: %llu comes after %llu", want, got, want - 1);
	else if (got < want)
		snprintf(w->why, sizeof(w->why), "record %llu comes again, or late: the one before is %llu", got, want - 1);
	else if (memcmp(l->prev, w->last.hash, CHAIN_HEX) != 0)
		snprintf(w->why, sizeof(w->why), "\"prev\" of record %llu is not the hash of record %llu", got, want - 1);
	else
		return true;
	return false;
}

enum chain_seen chain_walk_line(struct chain_walk *w, const char *line, size_t len)
{
	struct line l;
	const char *wrong = line_read(line, len, &l);
	enum chain_seen seen = CHAIN_SOUND;

	if (wrong) {
		chain_walk_unsound(w, line, len);
		snprintf(w->why, sizeof(w->why), "%s", wrong);
		return CHAIN_UNSOUND;
	}
	if (!follows(w, &l)) {
		seen = CHAIN_BREAK;
	} else if (w->unsound && !accounts_for(w, line, len)) {
		snprintf(w->why, sizeof(w->why), "what stands before record %llu is no record", (unsigned long long)l.seq);
		seen = CHAIN_BREAK;
	} else if (w->unsound) {
		seen = CHAIN_TORN;
	} else if (w->begun && is_torn(line, len)) {
		snprintf(w->why, sizeof(w->why), "record %llu speaks of torn bytes that are not there", (unsigned long long)l.seq);
		seen = CHAIN_BREAK;
	}
	w->unsound = false;
	w->begun = true;
	w->last.seq = l.seq;
	memcpy(w->last.hash, l.hash, sizeof(l.hash));
	return seen;
}

int chain_lines(int fd, int (*fn)(const char *line, size_t len, void *arg), void *arg)
{
	_cleanup_free_ char *buf = malloc(CHAIN_LINE_MAX);
	size_t have = 0;
	ssize_t n;
	int r = 0;

	if (!buf)
		return -ENOMEM;
	do {
		n = read(fd, buf + have, CHAIN_LINE_MAX - have);
		if (n < 0 && errno != EINTR)
			return -errno;
		have += n > 0 ? (size_t)n : 0;
		size_t at = 0;
		for (char *end; r == 0 && (end = memchr(buf + at, '\n', have - at)); at = (size_t)(end + 1 - buf))
			r = fn(buf + at, (size_t)(end + 1 - buf) - at, arg);
		if (r == 0 && (n == 0 || have - at == CHAIN_LINE_MAX) && have > at) {
			r = fn(buf + at, have - at, arg);
			at = have;
		}
		have -= at;
		memmove(buf, buf + at, have);
	} while (r == 0 && n != 0);
	return r;
}
