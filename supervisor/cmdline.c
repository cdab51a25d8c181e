#include "supervisor/cmdline.h"

#include "jail/base/limits.h"
#include "jail/base/names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct option_row {
	const char *name, *value, *help;
	bool (*set)(struct cmdline *o, const char *value);
};

static bool number_parse(const char *text, unsigned max, unsigned *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno || *end || n > max)
		return false;
	*ret = (unsigned)n;
	return true;
}

static bool set_private(struct cmdline *o, const char *value)
{
	unsigned fd;

	if (!number_parse(value, INT_MAX, &fd) || fd < 3)
		return false;
	o->private_fd = (int)fd;
	return true;
}

static bool set_warm(struct cmdline *o, const char *value)
{
	return number_parse(value, LIMIT_SLOTS, &o->warm);
}

static bool set_profiles(struct cmdline *o, const char *value)
{
	o->from.profiles = value;
	return *value != '\0';
}

static bool set_config(struct cmdline *o, const char *value)
{
	o->from.config = value;
	return *value != '\0';
}

static bool set_check(struct cmdline *o, const char *value UNUSED)
{
	return o->check = true;
}

static bool set_print_config(struct cmdline *o, const char *value UNUSED)
{
	return o->print_config = true;
}

static bool set_help(struct cmdline *o, const char *value UNUSED)
{
	return o->help = true;
}

static bool set_version(struct cmdline *o, const char *value UNUSED)
{
	return o->version = true;
}

/* Under the help of the row above. */
#define INDENT "                      "

static const struct option_row rows[] = {
	{ "--config", "FILE", "read FILE; default: /etc/brig/brigd.conf for root, else\n" INDENT "~/.config/brig/brigd.conf; it is fine if that is not there", set_config },
	{ "--check", NULL, "check configuration and profiles, say if they are good", set_check },
	{ "--print-config", NULL, "print every key, its value and where that is from, end", set_print_config },
	{ "--profiles", "DIR", "read profiles from DIR; default: profiles_dir, else beside\n" INDENT "build/, else /usr/share/brig/profiles", set_profiles },
	{ "--private", "FD", "no daemon: serve the one client behind descriptor FD, 3 or\n" INDENT "more, and end with it", set_private },
	{ "--warm", "N", "with --private: keep N jails of each profile ready, 0 to\n" INDENT "61; default 0: make each on demand", set_warm },
	{ "--version", NULL, "print the version", set_version },
	{ "--help", NULL, "print this", set_help },
};

void cmdline_help(void)
{
	printf("usage: brigd [--config FILE] [--profiles DIR] [--check | --print-config]\n"
	       "       brigd --private FD [--warm N] [--profiles DIR]\n\n"
	       "The supervisor: starts jails and limits, watches and ends them. A daemon with\n"
	       "the sockets agent.sock and admin.sock in its run directory; SIGHUP reloads,\n"
	       "SIGTERM drains. Where none runs, brig starts one of its own.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		printf("  %-14s %-4s %s\n", rows[i].name, rows[i].value ? rows[i].value : "", rows[i].help);
	printf("\nexamples:\n"
	       "  brigd                                 with /etc/brig/brigd.conf, or defaults\n"
	       "  brigd --config ./brigd.conf --check   is this file good?\n"
	       "  BRIG_STATE=/var/tmp/b brigd           your own, sockets in /var/tmp/b/run\n"
	       "  brigd --private 3 --warm 2            one client, the socket behind 3\n"
	       "\nbrigd(8) tells more, brigd.conf(5) has the keys.\n");
}

static const struct option_row *row_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

static int usage_error(const char *what, const char *word)
{
	char safe[80];
	size_t n = 0;

	for (; *word && n < sizeof(safe) - 1; word++)
		safe[n++] = *word >= ' ' && *word < 0x7f ? *word : '?';
	safe[n] = '\0';
	fprintf(stderr, "brigd: %s \"%s\"; see brigd --help\n", what, safe);
	return EXIT_USAGE;
}

static int rows_parse(int argc, char **argv, struct cmdline *o)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		const struct option_row *row = row_find(argv[i], len);
		const char *value = argv[i][len] == '=' ? argv[i] + len + 1 : NULL;

		if (!row)
			return usage_error(argv[i][0] == '-' ? "unknown option" : "unexpected argument", argv[i]);
		if (!row->value && value)
			return usage_error("no value belongs to", row->name);
		if (row->value && !value && i + 1 < argc)
			value = argv[++i];
		if (row->value && !value)
			return usage_error("a value is missing after", row->name);
		if (!row->set(o, value ? value : ""))
			return usage_error("not a possible value:", value);
	}
	return 0;
}

int cmdline_parse(int argc, char **argv, struct cmdline *o)
{
	*o = (struct cmdline){ .private_fd = -1 };
	int r = rows_parse(argc, argv, o);

	if (r == 0 && o->private_fd >= 0 && (o->from.config || o->check || o->print_config))
		return usage_error("a private supervisor has no configuration:", "--private");
	if (r == 0 && o->private_fd < 0 && o->warm)
		return usage_error("only a private supervisor takes it (a profile's pool.warm is what a daemon keeps):", "--warm");
	return r;
}
