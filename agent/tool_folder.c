/* A tool as plain files: DIR/NAME/tool.json and DIR/NAME/body.py. Who gave us such a folder is a stranger: links are not followed,
 * unknown keys are refused, and import goes through tool.create with all its guardrails. */
#include "agent/cmd_tool.h"

#include "agent/text.h"
#include "jail/base/fd.h"
#include "jail/base/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TOOL_JSON_MAX (1u << 20)
/* Of one folder; more than any registry holds. */
#define FOLDERS_MAX 10000
#define TOOL_JSON "tool.json"
#define BODY_PY	  "body.py"

/* ---- reading ---- */

static int take_string(const char *raw, size_t len, const char *key, struct bytes *ret, struct err *err)
{
	size_t n = 0;

	ret->data = json_string_dup(raw, len, &n);
	ret->len = n;
	return ret->data ? 0 : err_set(err, ERR_CALLER, EINVAL, TOOL_JSON, "%s: %s is not a string", TOOL_JSON, key);
}

static int take_raw(const char *raw, size_t len, struct bytes *ret, struct err *err)
{
	ret->data = strndup(raw, len);
	ret->len = len;
	for (size_t i = 0; ret->data && i < len; i++)
		if (ret->data[i] == '\n' || ret->data[i] == '\r')
			ret->data[i] = ' ';
	return ret->data ? 0 : err_set(err, ERR_HOST, ENOMEM, TOOL_JSON, "no memory");
}

/* What export adds for people is read over. */
static int take_member(const char *text, const struct json_member *m, struct tool_parts *p, struct err *err)
{
	const struct {
		const char *key;
		struct bytes *to;
		bool raw;
	} known[] = { { "name", &p->name, false },	     { "description", &p->description, false }, { "parameters", &p->parameters, true },
		      { "permissions", &p->permissions, true }, { "profile", &p->profile, false },	{ "profile_text", &p->profile_text, false },
		      { "version", NULL, false },	     { "hash", NULL, false } };
	char shown[64], key[48];

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strlen(known[i].key) != m->key_len || memcmp(known[i].key, text + m->key, m->key_len) != 0)
			continue;
		if (!known[i].to)
			return 0;
		return known[i].raw ? take_raw(text + m->value, m->value_len, known[i].to, err) :
				      take_string(text + m->value, m->value_len, known[i].key, known[i].to, err);
	}
	snprintf(key, sizeof(key), "%.*s", m->key_len < sizeof(key) ? (int)m->key_len : (int)sizeof(key) - 1, text + m->key);
	text_quote(shown, sizeof(shown), key);
	return err_set(err, ERR_CALLER, EINVAL, TOOL_JSON, "%s: unknown key %s", TOOL_JSON, shown);
}

static int parts_read(int dir, struct tool_parts *p, struct err *err)
{
	_cleanup_(bytes_done) struct bytes text = { 0 };
	struct json_error je;
	struct json_member m;
	size_t at;
	int r = file_read_at(dir, TOOL_JSON, TOOL_JSON_MAX, &text, err);

	if (r < 0)
		return r;
	if (json_check(text.data, text.len, JSON_OBJECT, LIMIT_JSON_DEPTH + 1, &je) < 0)
		return err_set(err, ERR_CALLER, EINVAL, TOOL_JSON, "%s: line %u, column %u: %s", TOOL_JSON, je.line, je.column, je.what);
	at = strspn(text.data, " \t\r\n");
	while (r == 0 && json_member_next(text.data, text.len, &at, &m))
		r = take_member(text.data, &m, p, err);
	if (r == 0)
		r = file_read_at(dir, BODY_PY, LIMIT_BODY_BYTES, &p->body, err);
	return r < 0 ? r : file_check_text(BODY_PY, &p->body, err);
}

static int folder_read_at(int above, const char *name, struct tool_parts *p, struct err *err)
{
	_cleanup_close_ int dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (above == AT_FDCWD ? 0 : O_NOFOLLOW));
	char shown[120];
	int r;

	text_quote(shown, sizeof(shown), name);
	if (dir < 0)
		return err_set(err, ERR_CALLER, errno, "folder", "cannot open folder %s: %s", shown, strerror(errno));
	r = parts_read(dir, p, err);
	return r < 0 ? err_wrap(err, "folder %s", shown) : 0;
}

int tool_folder_read(const char *path, struct tool_parts *ret, struct err *err)
{
	return folder_read_at(AT_FDCWD, path, ret, err);
}

/* ---- import ---- */

static int folder_wanted(const struct dirent *e)
{
	return e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN || e->d_type == DT_LNK);
}

static int import_one(const struct show *s, const struct options *opt, int above, const char *name)
{
	_cleanup_(tool_parts_done) struct tool_parts p = { 0 };
	struct err err = { 0 };

	if (folder_read_at(above, name, &p, &err) < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	return tool_create(s, opt, &p);
}

/* Every folder in it is tried; the exit status is that of the first that was not taken. */
static int import_all(const struct show *s, const struct options *opt, int dir)
{
	struct dirent **names = NULL;
	int n = scandirat(dir, ".", &names, folder_wanted, alphasort), status = 0;
	struct err err = { 0 };

	for (int i = 0; i < n; i++) {
		if (i < FOLDERS_MAX) {
			int r = import_one(s, opt, dir, names[i]->d_name);
			status = status ? status : r;
		}
		free(names[i]);
	}
	free(names);
	if (n > 0)
		return status;
	err_set(&err, ERR_CALLER, ENOENT, "folder", "there is no tool in this folder");
	err_hint(&err, "it holds a folder for each tool, with %s and %s", TOOL_JSON, BODY_PY);
	return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
}

int tool_import(const struct show *s, const struct options *opt)
{
	_cleanup_close_ int dir = open(opt->operand[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err = { 0 };
	struct stat st;
	char shown[120];

	text_quote(shown, sizeof(shown), opt->operand[1]);
	if (dir < 0) {
		err_set(&err, ERR_CALLER, errno, "folder", "cannot open folder %s: %s", shown, strerror(errno));
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	}
	if (fstatat(dir, TOOL_JSON, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return import_one(s, opt, AT_FDCWD, opt->operand[1]);
	return import_all(s, opt, dir);
}

/* ---- export ---- */

static int write_new(int dir, const char *name, const char *bytes, size_t len, struct err *err)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0 || fd_write_all(fd, bytes, len) < 0)
		return err_set(err, ERR_CALLER, errno, "folder", "cannot write %s: %s", name, strerror(errno));
	return 0;
}

/* A member of the tool as the supervisor gave it. */
static void member_copy(struct jbuf *b, const char *json, size_t len, const char *key, const char *sep)
{
	size_t at, n;

	if (!json_find(json, len, key, &at, &n, NULL))
		return;
	jbuf_printf(b, "%s\n  \"%s\": ", sep, key);
	jbuf_raw(b, json + at, n);
}

static void tool_json_print(struct jbuf *b, const char *json, size_t len)
{
	size_t at, n;

	jbuf_init(b, TOOL_JSON_MAX);
	jbuf_text(b, "{");
	member_copy(b, json, len, "name", "");
	member_copy(b, json, len, "description", ",");
	member_copy(b, json, len, "parameters", ",");
	/* What was found in the body is found again. */
	if (json_find(json, len, "inferred", &at, &n, NULL) && json[at] == 'f')
		member_copy(b, json, len, "permissions", ",");
	member_copy(b, json, len, "profile", ",");
	member_copy(b, json, len, "profile_text", ",");
	member_copy(b, json, len, "version", ",");
	member_copy(b, json, len, "hash", ",");
	jbuf_text(b, "\n}\n");
}

/* A supervisor that is not ours may say anything: what becomes a path is a name and nothing else. */
static bool is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n > 0 && n <= 64 && name[n] == '\0';
}

static int folder_write(const char *above, const char *json, size_t len, struct err *err)
{
	_cleanup_free_ char *name = text_find(json, len, "name", NULL), *path = NULL;
	size_t body_len = 0;
	_cleanup_free_ char *body = text_find(json, len, "body", &body_len);
	_cleanup_close_ int dir = -1;
	struct jbuf text;
	int r;

	if (!name || !is_name(name) || !body)
		return err_set(err, ERR_BUG, EPROTO, "supervisor", "the supervisor answered with something that is no tool");
	if (asprintf(&path, "%s/%s", above, name) < 0) {
		path = NULL;
		return err_set(err, ERR_HOST, ENOMEM, "folder", "no memory");
	}
	if (mkdir(path, 0777) < 0) {
		err_set(err, ERR_CALLER, errno, "folder", "cannot make folder %s there: %s", name, strerror(errno));
		err_hint(err, "nothing is written over: export into a new folder");
		return -EEXIST;
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_set(err, ERR_CALLER, errno, "folder", "cannot open folder %s: %s", name, strerror(errno));
	tool_json_print(&text, json, len);
	r = text.failed ? err_set(err, ERR_HOST, EFBIG, "folder", "%s of %s would be too large", TOOL_JSON, name) :
			  write_new(dir, TOOL_JSON, text.data, text.len, err);
	jbuf_done(&text);
	return r < 0 ? r : write_new(dir, BODY_PY, body, body_len, err);
}

static int export_one(const struct show *s, const struct options *opt, const char *name, const char *dir)
{
	_cleanup_(call_done) struct call c = { 0 };
	struct err err = { 0 };
	struct jbuf params;
	size_t at, len;
	int status;

	jbuf_init(&params, LIMIT_FRAME_BYTES);
	jbuf_text(&params, "{\"name\":");
	jbuf_cstring(&params, name);
	jbuf_text(&params, "}");
	bool asked = tool_ask(&c, s, opt, "tool.get", &params, &status);
	jbuf_done(&params);
	if (!asked || tool_refused(&c, s, &status))
		return status;
	if (!json_find(c.result, c.result_len, "tool", &at, &len, NULL))
		len = at = 0;
	if (folder_write(dir, c.result + at, len, &err) < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	fprintf(s->out, s->json ? "{\"outcome\":\"ok\",\"exported\":\"%s\"}\n" : "%s\n", name);
	return 0;
}

static int export_all(const struct show *s, const struct options *opt, const char *dir)
{
	_cleanup_(call_done) struct call c = { 0 };
	struct jbuf params;
	char path[40];
	size_t at, len;
	int status;

	jbuf_init(&params, 64);
	jbuf_text(&params, "{}");
	bool asked = tool_ask(&c, s, opt, "tool.list", &params, &status);
	jbuf_done(&params);
	if (!asked)
		return status;
	status = 0;
	for (unsigned i = 0; i < FOLDERS_MAX; i++) {
		snprintf(path, sizeof(path), "tools.%u.name", i);
		_cleanup_free_ char *name = text_find(c.result, c.result_len, path, NULL);
		if (!name)
			break;
		/* Those that ship with Brig are wherever it is, and nobody can create them. */
		snprintf(path, sizeof(path), "tools.%u.reviewed", i);
		if (json_find(c.result, c.result_len, path, &at, &len, NULL) && c.result[at] == 't')
			continue;
		int r = export_one(s, opt, name, dir);
		status = status ? status : r;
	}
	return status;
}

int tool_export(const struct show *s, const struct options *opt)
{
	const char *dir = opt->operand[opt->operands - 1];
	struct err err = { 0 };

	if (opt->all == (opt->operands == 3)) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "'tool export' needs a tool and a folder, or --all and a folder");
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	}
	if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
		err_set(&err, ERR_CALLER, errno, "folder", "cannot make the folder: %s", strerror(errno));
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	}
	return opt->all ? export_all(s, opt, dir) : export_one(s, opt, opt->operand[1], dir);
}
