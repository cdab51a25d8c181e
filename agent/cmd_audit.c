/* brig audit verify: needs no supervisor, only the right to read the log. */
#include "agent/audit_source.h"
#include "agent/audit_verify.h"
#include "agent/cmd.h"
#include "agent/cmd_audit.h"
#include "agent/show.h"
#include "agent/text.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define EXIT_BROKEN 1
/* A line that brigd is writing just now is whole a moment later. */
#define LIVE_TRIES 3
#define LIVE_WAIT_MS 200

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int files_find(const struct options *opt, struct verify_files *ret, struct err *err)
{
	char dir[4096];
	int r = 0;

	if (opt->operands > 2 || (opt->operands == 2 && !is_dir(opt->operand[1])))
		return verify_files_named(opt->operand + 1, opt->operands - 1, ret, err);
	if (opt->operands == 1)
		r = audit_default_dir(dir, sizeof(dir), err);
	return r < 0 ? r : verify_files_of_dir(opt->operands == 2 ? opt->operand[1] : dir, ret, err);
}

static void place_json(struct jbuf *b, const struct verify_place *p)
{
	jbuf_text(b, "{\"file\":");
	jbuf_cstring(b, p->file);
	jbuf_printf(b, ",\"line\":%llu}", (unsigned long long)p->line);
}

static void show_json(const struct show *s, const struct verify *v)
{
	struct jbuf b;

	jbuf_init(&b, 1u << 20);
	jbuf_printf(&b, "{\"sound\":%s,\"records\":%llu,\"files\":%u,\"first_seq\":%llu,\"last\":{\"seq\":%llu,\"hash\":\"%s\"},\"torn\":[",
		    v->broken ? "false" : "true", (unsigned long long)v->records, v->files, (unsigned long long)v->first_seq,
		    (unsigned long long)v->walk.last.seq, v->walk.last.hash);
	for (uint64_t i = 0; i < v->torn_count && i < VERIFY_TORN_MAX; i++) {
		jbuf_text(&b, i ? "," : "");
		place_json(&b, &v->torn[i]);
	}
	jbuf_text(&b, "],\"break\":");
	if (v->broken && v->where.file)
		place_json(&b, &v->where);
	else
		jbuf_text(&b, "null");
	jbuf_text(&b, ",\"what\":");
	if (v->broken)
		jbuf_cstring(&b, v->what);
	else
		jbuf_text(&b, "null");
	jbuf_text(&b, "}\n");
	if (!b.failed)
		fwrite(b.data, 1, b.len, s->out);
	jbuf_done(&b);
}

static void show_text(const struct show *s, const struct verify *v)
{
	unsigned long long last = v->walk.last.seq;
	char file[300];

	for (uint64_t i = 0; i < v->torn_count && i < VERIFY_TORN_MAX; i++) {
		text_quote(file, sizeof(file), v->torn[i].file);
		fprintf(s->out, "%s line %llu: accounts for a record before it that was torn when its writer was killed\n", file,
			(unsigned long long)v->torn[i].line);
	}
	if (v->broken && v->where.file) {
		text_quote(file, sizeof(file), v->where.file);
		fprintf(s->out, "BROKEN at %s line %llu: %s\n", file, (unsigned long long)v->where.line, v->what);
	} else if (v->broken) {
		fprintf(s->out, "BROKEN: %s\n", v->what);
	}
	if (v->broken) {
		fprintf(s->out, "%llu records before it are sound\n", (unsigned long long)v->records);
		return;
	}
	fprintf(s->out, "sound: %llu records, %llu to %llu, in %u %s\n", (unsigned long long)v->records, (unsigned long long)v->first_seq, last,
		v->files, v->files == 1 ? "file" : "files");
	if (v->first_seq > 1)
		fprintf(s->out, "the records before %llu are in files that are not here\n", (unsigned long long)v->first_seq);
	fprintf(s->out, "last hash: %s\n", v->walk.last.hash);
}

static int verify(const struct show *s, const struct options *opt, struct err *err)
{
	const struct timespec wait = { .tv_nsec = LIVE_WAIT_MS * 1000000L };
	struct verify_files files = { 0 };
	struct verify v = { 0 };
	int r;

	for (int try = 1;; try++) {
		r = files_find(opt, &files, err);
		if (r == 0)
			r = verify_run(&v, opt->head, &files, err);
		if (r < 0 || !v.broken || !v.unfinished || try == LIVE_TRIES)
			break;
		verify_files_done(&files);
		(void)nanosleep(&wait, NULL);
	}
	if (r == 0 && s->json)
		show_json(s, &v);
	else if (r == 0)
		show_text(s, &v);
	verify_files_done(&files);
	return r < 0 ? r : v.broken ? EXIT_BROKEN : 0;
}

static bool action_is(const struct options *opt, const char *name)
{
	return strcmp(opt->operand[0], name) == 0;
}

static int check(const struct options *opt, struct err *err)
{
	char shown[64];

	if (!action_is(opt, "verify") && !action_is(opt, "tail") && !action_is(opt, "export")) {
		text_quote(shown, sizeof(shown), opt->operand[0]);
		err_set(err, ERR_CALLER, EINVAL, "command line", "no such action: audit %s", shown);
		err_hint(err, "there are tail, export and verify");
		return -EINVAL;
	}
	if (opt->head && (strlen(opt->head) != CHAIN_HEX || strspn(opt->head, "0123456789abcdef") != CHAIN_HEX)) {
		err_set(err, ERR_CALLER, EINVAL, "command line", "option '--head' takes a hash of %d hex digits", CHAIN_HEX);
		err_hint(err, "it is what an earlier 'brig audit verify' printed as the last hash");
		return -EINVAL;
	}
	return 0;
}

int cmd_audit(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .json = opt->json };
	struct err err = { 0 };
	int r = check(opt, &err);

	if (r == 0)
		r = action_is(opt, "verify") ? verify(&s, opt, &err) : cmd_audit_tail(&s, opt);
	if (r < 0)
		r = show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	return show_end(&s, r);
}
